#include "dominance/triangle.h"

#include <vector>

namespace misstep::dominance {

namespace {

// The number for -infinity is lower on the left side than on the right, so that the sums can be compared without case
// distinctions.
template <class V>
bool holds(const Table &table) {
    constexpr V RIGHT = std::numeric_limits<V>::min() / 4, LEFT = 2 * RIGHT;
    const int n = table.size();
    std::vector<V> left(static_cast<std::size_t>(n) * n), right(left.size());
    for (int s = 0; s < n; ++s)
        for (int t = 0; t < n; ++t) {
            const Cost value = table.at(s, t);
            left[static_cast<std::size_t>(s) * n + t] = value == MINUS_INFINITY ? LEFT : static_cast<V>(value);
            right[static_cast<std::size_t>(s) * n + t] = value == MINUS_INFINITY ? RIGHT : static_cast<V>(value);
        }
    for (int s = 0; s < n; ++s) {
        const V *direct = right.data() + static_cast<std::size_t>(s) * n;
        for (int t = 0; t < n; ++t) {
            if (direct[t] == RIGHT) continue;
            const V *onwards = left.data() + static_cast<std::size_t>(t) * n;
            int wrong = 0;
            for (int u = 0; u < n; ++u) wrong |= direct[t] + onwards[u] > direct[u];
            if (wrong) return false;
        }
    }
    return true;
}

}  // namespace

bool satisfies_triangle(const Table &table, std::uint64_t max_steps) {
    if (table.bytes_per_pair() == 0) return true;
    if (table.finite() * table.size() > max_steps) return false;
    return table.magnitude() < (Cost{1} << 27) ? holds<std::int32_t>(table) : holds<std::int64_t>(table);
}

}  // namespace misstep::dominance
