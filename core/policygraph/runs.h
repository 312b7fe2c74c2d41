#pragma once

#include <vector>

#include "base/limits.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// Runs from many states that advance together, so that the policy is asked in batches: each round returns the states at
// which some run waits for a decision, each once.
class LockstepRuns {
   public:
    LockstepRuns(PolicyGraph &graph, std::vector<StateId> starts, std::uint32_t max_steps);

    // Moves all runs along the decisions in the graph. Empty: all runs have ended or have been cut.
    const std::vector<StateId> &advance();

   private:
    struct Front {
        StateId at;
        std::uint32_t steps;
    };
    PolicyGraph &graph_;
    std::uint32_t max_steps_;
    std::vector<Front> fronts_;
    std::vector<StateId> pending_;
    std::vector<char> is_pending_;
};

// The same with a native policy, which gains nothing from batches: one run after the other.
Limit run_native(PolicyGraph &graph, NativePolicy &policy, const std::vector<StateId> &starts, std::uint32_t max_steps,
                 const Limits &limits);

}  // namespace misstep
