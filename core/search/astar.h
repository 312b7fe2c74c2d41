#pragma once

#include <vector>

#include "base/open_list.h"
#include "heuristics/heuristic.h"
#include "search/node_table.h"
#include "search/result.h"

namespace misstep {

// A* with reopening: optimal for every admissible heuristic, consistent or not.
//
// With a bound, only plans cheaper than the bound are looked for: `exhausted` then proves that there is none, which is
// the proof that a policy of that cost is optimal. Without a heuristic the search is blind (cheapest operator, 0 at goals).
// With a target, that state is the goal instead of the task's, and the heuristic must be for it.
class AStar {
   public:
    AStar(const SuccessorGenerator &generator, Heuristic *heuristic, const int *start, Cost bound = INFINITE_COST,
          const int *target = nullptr);

    // Runs until it is decided or a limit is reached; calling it again continues where it stopped, and the budgets of
    // `limits` count from the beginning of the search, its seconds from this call.
    SearchResult run(const Limits &limits);

   private:
    bool is_goal(StateId id) const { return target_.empty() ? nodes_.is_goal(id) : nodes_.equal(id, target_.data()); }
    Cost estimate(StateId id);
    void consider(StateId id, Cost h);
    SearchResult finish(Status status, Limit limit);
    std::size_t bytes() const;

    NodeTable nodes_;
    Heuristic *heuristic_;
    Cost blind_estimate_;
    Cost bound_;
    std::vector<std::uint64_t> target_;  // packed; empty: the goal of the task
    OpenList<Ties::last_in> open_;
    std::vector<char> closed_;
    std::vector<Cost> h_;  // empty if blind
    std::vector<int> values_;
    StateId goal_ = NO_STATE;  // once found
    StateId unfinished_ = NO_STATE;  // a limit came in the middle of its expansion; it is the next one
    bool expanding_ = false;  // true at the start of `run`: an exception has left an expansion half done
    Progress progress_;
};

}  // namespace misstep
