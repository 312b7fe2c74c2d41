#pragma once

#include "dominance/factor.h"
#include "dominance/work.h"

namespace misstep::dominance {

// Merges labels that cost the same and differ in only one factor, where the merged label gets all their transitions. This is
// exact, because the planner can choose the transition in that factor. All factors are tried in order until a round changes
// nothing. Returns whether anything changed. The result is valid if the budget `work` ends it early.
bool reduce_labels(Factoring &factoring, Work &work);

}  // namespace misstep::dominance
