#pragma once

#include <unordered_set>
#include <vector>

#include "base/open_list.h"
#include "bounds/bound_store.h"
#include "heuristics/heuristic.h"

namespace misstep {

// Greedy best-first search that adds all its transitions to a bound store, a few expansions at a time.
//
// It does not look for a goal but for states with known bounds. Between two calls the caller compares the new states with
// others, and stops when the bounds are good enough. The store propagates bounds back along the transitions.
class GreedyLookahead {
   public:
    GreedyLookahead(BoundStore &store, Heuristic &heuristic, StateId root);

    // Expands up to `expansions` states, and returns the states met for the first time, except goals and dead ends.
    const std::vector<StateId> &advance(std::uint64_t expansions);
    bool exhausted() const { return open_.empty(); }
    std::uint64_t expansions() const { return expansions_; }
    std::uint64_t evaluations() const { return evaluations_; }

   private:
    BoundStore &store_;
    Heuristic &heuristic_;
    OpenList<Ties::first_in> open_;
    std::unordered_set<StateId> seen_;
    std::vector<StateId> fresh_;
    std::vector<int> values_;
    std::uint64_t expansions_ = 0;
    std::uint64_t evaluations_ = 0;
};

}  // namespace misstep
