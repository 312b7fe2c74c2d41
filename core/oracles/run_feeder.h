#pragma once

#include <limits>
#include <vector>

#include "bounds/bound_store.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// Adds the transitions along the runs of a policy to a bound store. Runs that reach a goal give bounds at once; along all
// other runs the store propagates bounds back to the states where they began. Each decision is added once.
//
// A run is followed for a given number of steps and no further, even if later decisions of the policy are known from
// another run: the contents of the store must not depend on what happens to be cached. Runs merge, so the number of steps
// for which a state was followed is kept, and a run that comes to a state that was followed far enough ends there.
class RunFeeder {
   public:
    static constexpr std::uint32_t WHOLE_RUN = std::numeric_limits<std::uint32_t>::max();

    RunFeeder(const PolicyGraph &policy, BoundStore &store) : policy_(policy), store_(store) {}

    // Follows the run from a state. The policy must have been asked along the run for `max_steps` steps.
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
