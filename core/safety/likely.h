#pragma once

#include "safety/risk.h"

namespace misstep::safety {

// The unsafe runs of a policy: how much risk each decision adds, and which unsafe run is most
// likely. These numbers rank and illustrate; they prove nothing.

// The value of the policy's label in each state, if everything after it were done as well as possible: bounds on the mean of the
// least risks of the outcomes, over the edge that is worst. 0 where the chain has no label.
Bounds decision_values(const Game &chain, const Bounds &least);

// How often a run of the chain is in each state, on average, from starts that are equally likely: of states that can get unsafe,
// 0 for the others. The environment takes the edges that are worst by `values`.
std::vector<double> expected_visits(const Game &chain, std::span<const StateId> starts,
                                    const std::vector<double> &values, const Limits &limits);

struct LikelyRun {
    std::vector<StateId> states;  // empty: no start gets unsafe
    double probability = 0;       // of its draws; the environment's edges are those that suit it
};
LikelyRun most_likely_unsafe_run(const Game &chain, std::span<const StateId> starts);

}  // namespace misstep::safety
