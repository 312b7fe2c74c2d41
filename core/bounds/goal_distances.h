#pragma once

#include <vector>

#include "base/open_list.h"
#include "bounds/plan.h"
#include "bounds/transition_cache.h"

namespace misstep {

// For every state of a transition cache, the cheapest path to a goal through the transitions known so far.
//
// New transitions can only make paths cheaper. So nothing is computed anew when the graph has grown: each new transition
// may improve its source, and improvements are propagated backwards in the order of Dijkstra's algorithm until nothing
// improves any more. The work is proportional to the part of the graph that has improved.
//
// Paths are compared by cost, then by number of steps. Every transition adds a step, so distances decrease strictly along
// the chosen transitions, and a path has no cycle even if operators cost zero.
class GoalDistances {
   public:
    explicit GoalDistances(const TransitionCache &graph) : graph_(graph) {}

    // Adds the transitions that were generated since the last update. The functions below refer to the graph at that time.
    void update();

    Cost cost(StateId id) const { return distances_[id].cost; }  // INFINITE_COST if no path is known
    std::size_t steps(StateId id) const { return distances_[id].steps; }
    // The first step of the path; NO_TRANSITION at goals and where no path is known.
    TransitionId next(StateId id) const { return distances_[id].by; }
    Plan plan(StateId id) const;                     // a path has to be known
    void path(StateId id, std::vector<StateId> &states) const;  // the states on it, goal included

    // Changes whenever a distance has improved.
    std::uint64_t revision() const { return revision_; }
    std::size_t bytes() const { return distances_.capacity() * sizeof(Distance) + queue_.bytes(); }

   private:
    struct Distance {
        Cost cost = INFINITE_COST;
        std::uint32_t steps = 0;
        TransitionId by = NO_TRANSITION;
    };
    void relax(TransitionId id, const TransitionCache::Transition &transition);

    const TransitionCache &graph_;
    std::vector<Distance> distances_;
    OpenList<Ties::first_in> queue_;
    TransitionId taken_in_ = 0;
    std::uint64_t revision_ = 0;
};

}  // namespace misstep
