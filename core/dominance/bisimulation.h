#pragma once

#include "dominance/factor.h"

namespace misstep::dominance {

// Merges bisimilar states: they have the same goal status, and each label leads to bisimilar states. This is exact: h* of
// every state of the task stays the same. The factor must be pruned. Returns whether it shrank.
bool shrink_by_bisimulation(Factor &factor);

}  // namespace misstep::dominance
