#pragma once

#include <cstddef>
#include <span>

#include "base/random.h"

namespace misstep {

inline constexpr std::ptrdiff_t NOTHING_SELECTED = -1;

// weightedSelect of P24: uniform among the weights +inf if there are any; otherwise in proportion to the finite weights,
// which are all shifted up so that the lowest is 0 if it is negative. If all are 0 then, uniform among the finite ones.
// Weights -inf are never selected.
//
// With probability `uniform_share` the choice is uniform among all that are not -inf. Without it, walks would never take a
// candidate of weight 0.
std::ptrdiff_t weighted_select(std::span<const double> weights, CounterRandom &random, double uniform_share = 0);

}  // namespace misstep
