#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/limits.h"
#include "fdr/value_preorder.h"
#include "heuristics/relaxation_heuristics.h"
#include "search/node_table.h"

namespace misstep {

// Goes back along walks: makes a plan for the end of a walk from a plan of a state that it passed.
//
// No analysis of the domain is needed. One operator leads from state x to y if its result is at least as good as y
// (value_preorder.h); then whatever works from y works after it. So the states of the walk and these operators form
// a small graph, and a cheapest path in it from the end of the walk to a state with a known plan, followed by that plan,
// is a plan for the end. Where the graph does not connect, a bounded A* with hmax looks for a longer way back.
//
// The walk itself leads forwards, so from a state that was reached again all later ones are. A state is reachable again
// only if all between it and the end are, so one proof that a step cannot be undone ends the work.
class WayBack {
   public:
    WayBack(const SuccessorGenerator &generator, std::shared_ptr<const RelaxedTask> relaxed);

    struct Way {
        bool found = false;
        std::vector<OperatorId> operators;
        Cost cost = 0;           // of these operators
        std::size_t target = 0;  // the state of the walk whose plan comes next
        std::uint64_t expansions = 0;
        Limit limit = Limit::none;  // with neither a way nor a limit there is no way
    };

    // A cheapest way to a state that is at least as good as the target.
    Way search(const int *start, const int *target, const Limits &limits);

    // From the last state of a walk, a row each, to one with a known plan. `plans` has the cost of a plan for each state,
    // INFINITE_COST if none is known. The way and the plan together cost less than `bound`. Half of what is left of the
    // expansions goes into each step that one operator cannot undo; when that was not enough, all the rest goes into
    // the direct way, as a walk that wandered about may have a short one.
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
