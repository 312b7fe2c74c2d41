#pragma once

#include "dominance/factor.h"

namespace misstep::dominance {

// Makes one label of labels that cost the same and differ in one factor only; there it gets all their transitions. Exact: which
// transition to take in that factor is the planner's choice. Factors take turns in order until a round changes nothing.
// Returns whether anything changed.
bool reduce_labels(Factoring &factoring);

}  // namespace misstep::dominance
