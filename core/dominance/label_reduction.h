#pragma once

#include "dominance/factor.h"
#include "dominance/work.h"

namespace misstep::dominance {

// Merges labels that cost the same and differ in one factor only; there it gets all their transitions. Exact: which
// transition to take in that factor is the planner's choice. Factors take turns in order until a round changes nothing.
// Returns whether anything changed. It may stop at any time: `work` says when.
bool reduce_labels(Factoring &factoring, Work &work);

}  // namespace misstep::dominance
