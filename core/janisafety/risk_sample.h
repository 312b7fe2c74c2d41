#pragma once

#include "base/limits.h"
#include "jani/engine.h"
#include "safety/system.h"

namespace misstep::safety {

// Runs of the policy with outcomes drawn by the model's probabilities. Run i draws from stream i of the seed, so that a
// sample is a function of the seed and its size.
struct RiskSample {
    std::uint64_t runs = 0;
    std::uint64_t unsafe = 0;
    std::uint64_t cut = 0;           // runs that had not ended after `max_steps`
    std::uint64_t steps = 0;
    bool several_edges = false;      // some draw was between edges of one label, which the environment chooses
    Limit limit = Limit::none;       // other than none: fewer runs than requested, so the sample has no fixed size
};

RiskSample sample_risk(System &system, jani::Engine &engine, std::span<const StateId> starts, std::uint64_t runs,
                       std::uint64_t seed, std::uint64_t max_steps, const Limits &limits);

}  // namespace misstep::safety
