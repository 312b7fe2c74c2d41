#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/types.h"

namespace misstep::dominance {

// Means that nothing is known. Less than any number.
inline constexpr Cost MINUS_INFINITY = -INFINITE_COST;

// D of one factor: how much better the dominating abstract state is than the dominated one. A pair takes two bytes if the values
// fit, otherwise four or eight; the identity table, where only D(x, x) = 0 is known, takes none.
class Table {
   public:
    Table() = default;
    static Table identity(int size);
    template <class V>  // values at or below `lowest` are -infinity
    static Table of(int size, const std::vector<V> &values, V lowest);

    int size() const { return size_; }
    int bytes_per_pair() const;
    std::size_t bytes() const { return static_cast<std::size_t>(size_) * size_ * bytes_per_pair(); }

    // Calls visit with a pointer to the values, row by row; a null pointer for the identity.
    template <class Visit>
    auto visit(Visit &&visit) const {
        switch (values_.index()) {
            case 1: return visit(std::get<1>(values_).data());
            case 2: return visit(std::get<2>(values_).data());
            case 3: return visit(std::get<3>(values_).data());
            default: return visit(static_cast<const std::int16_t *>(nullptr));
        }
    }
    template <class T>
    static Cost widen(T value) {
        return value == std::numeric_limits<T>::min() ? MINUS_INFINITY : static_cast<Cost>(value);
    }
    Cost at(int dominated, int dominating) const {
        const std::size_t i = static_cast<std::size_t>(dominated) * size_ + dominating;
        return visit([&](const auto *values) -> Cost {
            if (values == nullptr) return dominated == dominating ? 0 : MINUS_INFINITY;
            return widen(values[i]);
        });
    }

    // The largest absolute value of a finite entry, and the number of finite entries.
    Cost magnitude() const;
    std::uint64_t finite() const;

    void write(std::string &out) const;
    // Empty if there are too few bytes or they are not a table of that size.
    static std::optional<Table> read(std::string_view &in, int size);

   private:
    int size_ = 0;
    std::variant<std::monostate, std::vector<std::int16_t>, std::vector<std::int32_t>, std::vector<std::int64_t>>
        values_;
};

}  // namespace misstep::dominance
