#pragma once

#include <vector>

#include "base/limits.h"
#include "policygraph/policy.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// Runs from all candidates of one expansion within two budgets (lines 10 to 13 of P24): each run may take `state_budget`
// steps, and all runs together `expansion_budget` steps, in the order of the candidates. When the latter is used up, the
// remaining candidates are ignored.
//
// That rule is sequential, but a policy that is not native should be asked in batches. So all runs advance together, each
// as far as the rule may still allow: the budget of a run is at most the total budget less the steps that the earlier runs
// are known to take. The policy may be asked in a few more states than one run after the other would need. The result is
// the same.
class PartialRuns {
   public:
    PartialRuns(PolicyGraph &graph, std::vector<StateId> candidates, std::uint32_t state_budget,
                std::uint32_t expansion_budget);

    const PolicyGraph &graph() const { return graph_; }

    // States in which the policy has to be asked, each once. Empty: all runs are known.
    const std::vector<StateId> &advance();
    // To be used instead of `advance` with a native policy: one run after the other.
    Limit run(NativePolicy &policy, const Limits &limits);

    // The ends of the runs that the budget allows: one for each of the first candidates.
    const std::vector<RunEnd> &ends();

   private:
    struct Front {
        StateId at;
        std::uint32_t steps;
    };
    PolicyGraph &graph_;
    std::vector<StateId> candidates_;
    std::uint32_t state_budget_;
    std::uint32_t expansion_budget_;
    std::vector<Front> fronts_;
    std::vector<StateId> pending_;
    std::vector<RunEnd> ends_;
};

}  // namespace misstep
