#pragma once

#include <vector>

#include "base/limits.h"
#include "policygraph/policy.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// Runs from all candidates of one expansion within two budgets (lines 10 to 13 of P24): each run may take `state_budget`
// steps, all of them together `expansion_budget`, and they take from it in the order of the candidates. When it is used
// up, the candidates that are left do not count.
//
// That rule is sequential, and a policy outside wants to be asked in batches. So all runs advance together, each as
// far as the rule could still let it go: what is left for a run is at most the budget less the steps that the runs before
// it are known to take. The policy may be asked about a few states more than one by one; the result is the same.
class PartialRuns {
   public:
    PartialRuns(PolicyGraph &graph, std::vector<StateId> candidates, std::uint32_t state_budget,
                std::uint32_t expansion_budget);

    const PolicyGraph &graph() const { return graph_; }

    // States that the policy has to be asked about, each once. Empty: all runs are known.
    const std::vector<StateId> &advance();
    // Instead of that, with a native policy: one run after the other.
    Limit run(NativePolicy &policy, const Limits &limits);

    // How the runs end that the budget allows: one for each of the first candidates.
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
