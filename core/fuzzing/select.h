#pragma once

#include <cstddef>
#include <span>

#include "base/random.h"

namespace misstep {

inline constexpr std::ptrdiff_t NOTHING_SELECTED = -1;

// P24's weightedSelect: uniform among the weights +inf if there are any; otherwise in proportion to the finite weights, all
// of them raised by the lowest one if that is negative. If that leaves only zeros, uniform among the finite ones. Weights
// -inf are never selected.
//
// With a positive `uniform_share` the choice is, with that probability, uniform among all that are not -inf: the way out
// for walks that would otherwise never take a candidate of weight 0.
std::ptrdiff_t weighted_select(std::span<const double> weights, CounterRandom &random, double uniform_share = 0);

}  // namespace misstep
