#pragma once

#include "safety/risk.h"

namespace misstep::safety {

// The unsafe runs of a policy: how much risk each decision adds, and which unsafe run is most
// likely. These numbers serve to rank and to illustrate; apart from `decision_values` they prove nothing.

// The risk of the policy's label in each state, if all later labels were chosen as well as possible: bounds on the mean of the
// least risks of the outcomes, over the worst edge. 0 where the chain has no label.
Bounds decision_values(const Game &chain, const Bounds &least);

// How often a run of the chain is in each state, on average, from starts that are equally likely; 0 for states that cannot reach an
// unsafe state. The environment takes the edges that are worst by `values`.
std::vector<double> expected_visits(const Game &chain, std::span<const StateId> starts,
                                    const std::vector<double> &values, const Limits &limits);

struct LikelyRun {
    std::vector<StateId> states;  // empty: no start can reach an unsafe state
    double probability = 0;       // of its outcomes, if the environment takes the edges of this run
};
LikelyRun most_likely_unsafe_run(const Game &chain, std::span<const StateId> starts);

}  // namespace misstep::safety
