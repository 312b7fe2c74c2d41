#pragma once

#include "base/limits.h"
#include "jani/space.h"
#include "safety/decider.h"

namespace misstep::safety {

// The truth about every state of a whole space. Nothing here is lazy: the deciders are checked against it, and it
// shares nothing with them but the definitions.
struct GroundTruth {
    Limit limit = Limit::none;           // other than none: the rest is empty
    std::vector<LabelId> decisions;      // of the policy; NO_LABEL in terminal states and where it stops
    std::vector<std::uint8_t> lost;      // not safe
    std::vector<Radius> deviations;      // that a safe strategy needs; largest + 1: more, or lost
    std::vector<std::uint8_t> faults;    // the policy's decision gives safety away
    std::vector<std::uint8_t> bugs;      // safe, but the policy can get unsafe; where it stops, it does not
};

// The system must be over `engine`, which may be another one than the space's own. `limits.expansions` counts the states whose
// decision was asked for.
GroundTruth ground_truth(jani::Space &space, System &system, jani::Engine &engine, Radius largest,
                         const Limits &limits);

}  // namespace misstep::safety
