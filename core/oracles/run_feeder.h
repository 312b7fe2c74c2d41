#pragma once

#include <limits>
#include <vector>

#include "bounds/bound_store.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// Brings the transitions along the runs of a policy into a bound store: those of runs that reach a goal give bounds at
// once, those of all others pass bounds back to where they come from. Each decision is taken in once.
//
// A run is followed for a given number of steps, and no further, even if somebody else has asked the policy about what comes
// then: what is in the store must not depend on what happens to be cached. Runs merge, so every state remembers for
// how many steps it was followed, and a run that comes to a state that was followed far enough is done.
class RunFeeder {
   public:
    static constexpr std::uint32_t WHOLE_RUN = std::numeric_limits<std::uint32_t>::max();

    RunFeeder(const PolicyGraph &policy, BoundStore &store) : policy_(policy), store_(store) {}

    // Follows the run from a state, along which the policy was asked for that many steps.
    void feed(StateId start, std::uint32_t max_steps = WHOLE_RUN);

   private:
    StateId store_id(StateId id);

    const PolicyGraph &policy_;
    BoundStore &store_;
    std::vector<std::uint32_t> followed_;  // steps from this state
    std::vector<char> is_taken_in_;
    std::vector<int> values_;
};

}  // namespace misstep
