#pragma once

#include "base/limits.h"
#include "safety/system.h"

namespace misstep::safety {

// All states that the policy can reach from some states.
struct Envelope {
    Limit limit = Limit::none;   // other than none: there is neither a run nor a proof
    bool is_safe = false;        // proven: no run of the policy from the starts ever reaches an unsafe state
    std::vector<StateId> states; // a shortest run into an unsafe state, if there is one
    std::vector<LabelId> labels;
    std::uint64_t reached = 0;   // states
    std::uint64_t dead_ends = 0;
    std::uint64_t stops = 0;     // states where the policy stops
};

// Breadth-first over all runs of the policy. Limits: expansions are states of the envelope.
Envelope explore_envelope(System &system, std::span<const StateId> starts, const Limits &limits);

}  // namespace misstep::safety
