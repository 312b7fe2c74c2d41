#pragma once

#include <queue>
#include <utility>
#include <vector>

#include "bounds/transition_cache.h"

namespace misstep {

// For every state of a transition cache, a cost that no plan from it can be cheaper than.
//
// A bound comes from outside: an admissible heuristic, a search that was exhausted. What is known of one state says
// something about the states behind it. If s leads to t at cost c, a plan from t gives one from s, so h*(s) <= c + h*(t)
// and h*(t) >= l(s) - c. Bounds therefore travel forwards, getting weaker by the cost of the way. Proving one
// run optimal proves every state on it optimal, and what lies behind a dead end is a dead end.
//
// Backwards nothing follows from a single transition: another one may be cheaper.
class LowerBounds {
   public:
    explicit LowerBounds(const TransitionCache &graph) : graph_(graph) {}

    void raise(StateId id, Cost bound);
    // Takes in what was raised or generated since the last time. The next ones speak of the graph as it was then.
    void update();
    Cost cost(StateId id) const { return bounds_[id]; }

    std::size_t bytes() const { return bounds_.capacity() * sizeof(Cost); }

   private:
    void cover();
    void pass_on(const TransitionCache::Transition &transition);

    const TransitionCache &graph_;
    std::vector<Cost> bounds_;
    std::priority_queue<std::pair<Cost, StateId>> queue_;  // highest first: each state is settled once
    TransitionId taken_in_ = 0;
};

}  // namespace misstep
