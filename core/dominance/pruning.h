#pragma once

#include "dominance/factor.h"

namespace misstep::dominance {

// Removes abstract states from which no goal can be reached, with `unreachable` also those that cannot be reached from
// the initial state, and labels that have no transition left in some factor; then again, until nothing changes.
//
// The repetition is needed for soundness: a label that is dead in one factor must be dead in all. In a factor where it
// was alive it would look like something that can be done, and elsewhere like something that does no harm.
// Fills `h`. Sets `solvable` to false, and stops, if an initial state goes.
void prune(Factoring &factoring, bool unreachable);

}  // namespace misstep::dominance
