#pragma once

#include "base/limits.h"
#include "bounds/plan.h"

namespace misstep {

// Finds superfluous operators of a plan.
//
// Leaving out one operator may make later ones inapplicable. They are left out with it, and if the rest still ends in a
// goal, all of them together were superfluous. Everything is decided by executing the operators that are left, so
// conditional effects need no special treatment. The result is a subsequence of the plan and again a plan.
//
// `first` removes the first removable set that it meets, from left to right: O(n^2) operator applications. `greedy`
// compares the removable sets of all operators and removes the most expensive one, until there is none: O(n^3), often
// better, but not always. Finding the cheapest subsequence is NP-complete.
enum class Elimination { first, greedy };

// `plan` must be valid (see replay). If a limit is reached, what was removed so far stays removed.
Plan eliminate(const SuccessorGenerator &generator, const int *start, std::span<const OperatorId> plan,
               Elimination kind, const Limits &limits = {});

// The cheaper result of both kinds; the shorter one if they cost the same. For a long plan only the first kind is tried.
Plan best_elimination(const SuccessorGenerator &generator, const int *start, std::span<const OperatorId> plan,
                      const Limits &limits = {});

}  // namespace misstep
