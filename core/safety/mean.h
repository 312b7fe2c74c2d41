#pragma once

#include <algorithm>

#include "safety/game.h"

namespace misstep::safety {

// A mean, moved outward by more than its rounding errors. The mean of some values is computed with a product for each value, two
// sums and a quotient. Each operation has a relative error of at most 2^-53, and a weight has one such error for each probability
// that was multiplied into it. The errors of denormal numbers are not relative: a weight or a product may be wrong by 2^-1074. The
// sum over all outcomes is still wrong by far less than 1e-290, and that is what is added to it or cut off from it.
template <bool UP>
double outward(double sum, double weight, double low, double high, std::size_t roundings) {
    if (low == high) return low;
    if (weight < 1e-200) return UP ? high : low;
    const double mean = sum / weight;
    const double slack = static_cast<double>(roundings) * 0x1.0p-53;
    if (UP) return std::min(high, mean * (1 + slack) + 1e-290 / std::min(weight, 1.0));
    return std::max(low, std::min(sum, mean) < 1e-280 ? 0.0 : mean * (1 - slack));
}

// The mean of values over the outcomes of an edge that are not `skipped`; below 0 if all are.
template <bool UP, class Skipped>
double edge_mean(const Game &game, std::uint64_t edge, const std::vector<double> &values, Skipped &&skipped) {
    double sum = 0, weight = 0, low = 1, high = 0;
    std::size_t count = 0;
    for (std::uint64_t o = game.outcomes_of[edge]; o < game.outcomes_of[edge + 1]; ++o) {
        const StateId t = game.outcomes[o];
        if (skipped(t)) continue;
        const double value = values[t];
        sum += game.weights[o] * value;
        weight += game.weights[o];
        low = std::min(low, value);
        high = std::max(high, value);
        ++count;
    }
    return count == 0 ? -1 : outward<UP>(sum, weight, low, high, 2 * (count + game.factors) + 4);
}
template <bool UP>
double edge_mean(const Game &game, std::uint64_t edge, const std::vector<double> &values) {
    return edge_mean<UP>(game, edge, values, [](StateId) { return false; });
}

}  // namespace misstep::safety
