#include "fuzzing/select.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace misstep {

namespace {

template <class Accepts>
std::ptrdiff_t uniform_among(std::span<const double> weights, CounterRandom &random, Accepts &&accepts) {
    const auto count = std::count_if(weights.begin(), weights.end(), accepts);
    if (count == 0) return NOTHING_SELECTED;
    std::uint64_t left = random.below(static_cast<std::uint64_t>(count));
    std::size_t i = 0;
    while (!accepts(weights[i]) || left-- > 0) ++i;
    return static_cast<std::ptrdiff_t>(i);
}

constexpr double INF = std::numeric_limits<double>::infinity();

}  // namespace

std::ptrdiff_t weighted_select(std::span<const double> weights, CounterRandom &random, double uniform_share) {
    const auto selectable = [](double weight) { return weight != -INF; };
    const auto finite = [](double weight) { return std::isfinite(weight); };
    if (uniform_share > 0 && random.real() < uniform_share) return uniform_among(weights, random, selectable);
    if (std::find(weights.begin(), weights.end(), INF) != weights.end())
        return uniform_among(weights, random, [](double weight) { return weight == INF; });

    double lowest = 0;
    for (double weight : weights)
        if (finite(weight)) lowest = std::min(lowest, weight);
    double sum = 0;
    for (double weight : weights)
        if (finite(weight)) sum += weight - lowest;
    if (sum == 0) return uniform_among(weights, random, finite);

    double x = random.real() * sum;
    std::ptrdiff_t last = NOTHING_SELECTED;  // selected if rounding leaves a little of x after the scan
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!finite(weights[i]) || weights[i] == lowest) continue;  // never selected: -inf, or 0 after the shift
        last = static_cast<std::ptrdiff_t>(i);
        x -= weights[i] - lowest;
        if (x < 0) break;
    }
    return last;
}

}  // namespace misstep
