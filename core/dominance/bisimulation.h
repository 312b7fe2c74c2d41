#pragma once

#include "dominance/factor.h"

namespace misstep::dominance {

// Merges states that behave alike: same goal status, and each label leads to states that behave alike. Exact, so h*
// of every state of the task is kept. Expects a pruned factor; returns whether it shrank.
bool shrink_by_bisimulation(Factor &factor);

}  // namespace misstep::dominance
