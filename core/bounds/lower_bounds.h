#pragma once

#include <queue>
#include <utility>
#include <vector>

#include "bounds/transition_cache.h"

namespace misstep {

// For every state of a transition cache, a lower bound on the cost of all its plans.
//
// A bound comes from outside: an admissible heuristic, or an exhausted search. It also bounds the successors of the
// state: if s leads to t at cost c, a plan from t gives one from s, so h*(s) <= c + h*(t) and h*(t) >= l(s) - c. Bounds
// are therefore propagated forwards, reduced by the cost of the path. If one run is proven optimal, so is the rest of the
// run from each of its states, and all states that a dead end leads to are dead ends.
//
// Nothing follows in the backward direction from a single transition, because another one may be cheaper.
class LowerBounds {
   public:
    explicit LowerBounds(const TransitionCache &graph) : graph_(graph) {}

    void raise(StateId id, Cost bound);
    // Propagates what was raised or generated since the last update. `cost` refers to the graph at that time.
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
