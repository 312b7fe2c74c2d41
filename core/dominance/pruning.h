#pragma once

#include "dominance/factor.h"

namespace misstep::dominance {

// Removes abstract states from which no goal can be reached, with `unreachable` also those that cannot be reached from
// the initial state, and labels that have no transition left in some factor. Repeats this until nothing changes.
//
// The repetition is needed for soundness: a label that can never be executed because of one factor must be removed from all.
// Otherwise another factor could use it as an answer. Fills `h`. Sets `solvable` to false, and stops, if an initial state is
// removed.
void prune(Factoring &factoring, bool unreachable);

}  // namespace misstep::dominance
