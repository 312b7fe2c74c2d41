#include "dominance/table.h"

#include <algorithm>
#include <cstring>

namespace misstep::dominance {

namespace {

template <class T, class V>
std::vector<T> narrowed(const std::vector<V> &values, V lowest) {
    std::vector<T> result(values.size());
    std::transform(values.begin(), values.end(), result.begin(),
                   [lowest](V v) { return v <= lowest ? std::numeric_limits<T>::min() : static_cast<T>(v); });
    return result;
}

template <class T>
std::optional<std::vector<T>> read_values(std::string_view &in, std::size_t count) {
    if (in.size() / sizeof(T) < count) return {};
    std::vector<T> values(count);
    std::memcpy(values.data(), in.data(), count * sizeof(T));
    in.remove_prefix(count * sizeof(T));
    return values;
}

}  // namespace

Table Table::identity(int size) {
    Table result;
    result.size_ = size;
    return result;
}

template <class V>
Table Table::of(int size, const std::vector<V> &values, V lowest) {
    Table result;
    result.size_ = size;
    Cost magnitude = 0;
    for (V v : values)
        if (v > lowest) magnitude = std::max(magnitude, v < 0 ? -static_cast<Cost>(v) : static_cast<Cost>(v));
    if (magnitude <= std::numeric_limits<std::int16_t>::max()) result.values_ = narrowed<std::int16_t>(values, lowest);
    else if (magnitude <= std::numeric_limits<std::int32_t>::max())
        result.values_ = narrowed<std::int32_t>(values, lowest);
    else result.values_ = narrowed<std::int64_t>(values, lowest);
    return result;
}

template Table Table::of<std::int32_t>(int, const std::vector<std::int32_t> &, std::int32_t);
template Table Table::of<std::int64_t>(int, const std::vector<std::int64_t> &, std::int64_t);

int Table::bytes_per_pair() const {
    constexpr int BYTES[] = {0, 2, 4, 8};
    return BYTES[values_.index()];
}

Cost Table::magnitude() const {
    return visit([&](const auto *values) {
        Cost largest = 0;
        if (values != nullptr)
            for (std::size_t i = 0; i < static_cast<std::size_t>(size_) * size_; ++i)
                if (const Cost v = widen(values[i]); v != MINUS_INFINITY) largest = std::max(largest, v < 0 ? -v : v);
        return largest;
    });
}

std::uint64_t Table::finite() const {
    return visit([&](const auto *values) {
        if (values == nullptr) return static_cast<std::uint64_t>(size_);
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(size_) * size_; ++i)
            count += widen(values[i]) != MINUS_INFINITY;
        return count;
    });
}

void Table::write(std::string &out) const {
    out.push_back(static_cast<char>(values_.index()));
    visit([&](const auto *values) {
        if (values != nullptr) out.append(reinterpret_cast<const char *>(values), bytes());
    });
}

std::optional<Table> Table::read(std::string_view &in, int size) {
    if (in.empty()) return {};
    Table result;
    result.size_ = size;
    const int kind = in[0];
    in.remove_prefix(1);
    const std::size_t count = static_cast<std::size_t>(size) * size;
    const auto take = [&](auto read) {
        if (read) result.values_ = std::move(*read);
        return read.has_value();
    };
    if (kind == 0) return result;  // the identity, of any size that a file may claim
    bool good = false;
    if (kind == 1) good = take(read_values<std::int16_t>(in, count));
    if (kind == 2) good = take(read_values<std::int32_t>(in, count));
    if (kind == 3) good = take(read_values<std::int64_t>(in, count));
    // Each state is as good as itself, and values of eight bytes must leave room for sums.
    if (!good || result.magnitude() > (Cost{1} << 58)) return {};
    for (int s = 0; s < size; ++s)
        if (result.at(s, s) != 0) return {};
    return result;
}

}  // namespace misstep::dominance
