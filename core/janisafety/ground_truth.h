#pragma once

#include "base/limits.h"
#include "jani/space.h"
#include "safety/decider.h"

namespace misstep::safety {

// The truth about every state of a whole space. Everything is computed on the whole space at once. The deciders are tested against
// it, and it shares nothing with them but the definitions.
struct GroundTruth {
    Limit limit = Limit::none;           // other than none: the rest is empty
    std::vector<LabelId> decisions;      // of the policy; NO_LABEL in terminal states and where it stops
    std::vector<std::uint8_t> lost;      // not safe
    std::vector<Radius> deviations;      // that a safe strategy needs; largest + 1: more than `largest`, or lost
    std::vector<std::uint8_t> faults;    // safe states where the policy's decision has an outcome that is not safe
    std::vector<std::uint8_t> bugs;      // safe states from which the policy can get unsafe; stopping is safe
};

// The system must use `engine`, which need not be the engine of the space. `limits.expansions` counts the states where the policy
// was asked.
GroundTruth ground_truth(jani::Space &space, System &system, jani::Engine &engine, Radius largest,
                         const Limits &limits);

}  // namespace misstep::safety
