#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/limits.h"
#include "fdr/value_preorder.h"
#include "heuristics/relaxation_heuristics.h"
#include "search/node_table.h"

namespace misstep {

// Goes back along walks: makes a plan for the end of a walk from a plan of a state on the walk.
//
// No analysis of the domain is needed. One operator leads from state x to y if its result is at least as good as y
// (value_preorder.h); then every plan of y is a plan of the result. So the states of the walk and these operators form
// a small graph, and a cheapest path in it from the end of the walk to a state with a known plan, followed by that plan,
// is a plan for the end. Where the graph is not connected, a bounded A* with hmax looks for a longer path back.
//
// The walk itself leads forwards: if a state of the walk can be reached again, so can all later ones. Hence a state can be
// reached again only if all states between it and the end can, and a proof that one step cannot be undone ends the search.
class WayBack {
   public:
    WayBack(const SuccessorGenerator &generator, std::shared_ptr<const RelaxedTask> relaxed);

    struct Way {
        bool found = false;
        std::vector<OperatorId> operators;
        Cost cost = 0;           // of these operators
        std::size_t target = 0;  // the state of the walk whose plan follows
        std::uint64_t expansions = 0;
        Limit limit = Limit::none;  // without a path: `none` if the search was exhausted; see `search` and `back`
    };

    // A cheapest path to a state that is at least as good as the target. Neither a path nor a limit: there is no such path.
    Way search(const int *start, const int *target, const Limits &limits);

    // A path from the last state of a walk (one row for each state) to one with a known plan. `plans` has the cost of a plan
    // for each state, INFINITE_COST if none is known. The path and the plan together cost less than `bound`. Half of the
    // expansions that are left go into each step that one operator cannot undo. If they do not suffice, all the rest goes
    // into a direct path, since a walk that took detours may have a short one. Neither a path nor a limit: a step cannot be
    // undone, or the paths that were found are not cheap enough.
    Way back(std::span<const int> walk, std::span<const Cost> plans, Cost bound, const Limits &limits);

   private:
    const SuccessorGenerator &generator_;
    const Task &task_;
    ValuePreorder order_;
    HMax hmax_;
    NodeTable nodes_;
    std::vector<Cost> h_;
    std::vector<char> closed_;
    std::vector<int> values_;
    std::vector<OperatorId> operators_;
};

}  // namespace misstep
