#pragma once

#include <cstdint>

#include "base/limits.h"
#include "dominance/factor.h"

namespace misstep::dominance {

struct FactoringOptions {
    bool merge = true;
    int max_states = 50'000;                  // of a product, before it is pruned
    std::uint64_t max_transitions = 10'000;   // of a product, before it is pruned
    bool reduce_labels = false;
    bool shrink = false;
    bool prune_unreachable = true;
};

// Atomic factors, merged two at a time as long as the limits allow, and pruned after every step. If `limits.seconds` or
// `limits.expansions` is reached, merging stops (see `limit`), and the factors so far can be used.
Factoring make_factoring(const Task &task, const FactoringOptions &options, const Limits &limits, Limit &limit);

}  // namespace misstep::dominance
