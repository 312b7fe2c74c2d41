#include "jani/range.h"

#include <algorithm>
#include <cmath>

namespace misstep::jani {

namespace {

__extension__ using Wide = __int128;

Ranged integers(Wide low, Wide high) {
    constexpr Wide MIN = std::numeric_limits<Word>::min(), MAX = std::numeric_limits<Word>::max();
    Ranged result{{}, low >= MIN && high <= MAX};
    if (result.total) {
        result.range.low = static_cast<Word>(low);
        result.range.high = static_cast<Word>(high);
    }
    return result;
}

Ranged reals(double low, double high) {
    Ranged result{{}, std::isfinite(low) && std::isfinite(high)};
    if (result.total) {
        result.range.real_low = low;
        result.range.real_high = high;
    }
    return result;
}

template <class T, class Operation>
auto corners(T al, T ah, T bl, T bh, Operation operation) {
    const auto values = {operation(al, bl), operation(al, bh), operation(ah, bl), operation(ah, bh)};
    return std::pair(std::min(values), std::max(values));
}

Ranged rounded(double low, double high) {
    if (!(low >= -0x1p62 && high <= 0x1p62)) return {{}, false};
    return integers(static_cast<Wide>(low), static_cast<Wide>(high));
}

Ranged integer_range(Op op, const Range &a, const Range &b) {
    switch (op) {
        case Op::add: return integers(Wide{a.low} + b.low, Wide{a.high} + b.high);
        case Op::subtract: return integers(Wide{a.low} - b.high, Wide{a.high} - b.low);
        case Op::multiply: {
            const auto [low, high] = corners<Wide>(a.low, a.high, b.low, b.high, [](Wide x, Wide y) { return x * y; });
            return integers(low, high);
        }
        case Op::modulo: {
            Ranged result = integers(0, b.high > 0 ? b.high - 1 : 0);
            result.total = b.low > 0;
            return result;
        }
        case Op::minimum: return integers(std::min(a.low, b.low), std::min(a.high, b.high));
        case Op::maximum: return integers(std::max(a.low, b.low), std::max(a.high, b.high));
        case Op::absolute: {
            const Wide low = a.low, high = a.high;
            return integers(low > 0 ? low : high < 0 ? -high : 0, std::max(-low, high));
        }
        default: return {{}, false};
    }
}

Ranged real_range(Op op, const Range &a, const Range &b) {
    switch (op) {
        case Op::add: return reals(a.real_low + b.real_low, a.real_high + b.real_high);
        case Op::subtract: return reals(a.real_low - b.real_high, a.real_high - b.real_low);
        case Op::multiply: {
            const auto [low, high] =
                corners(a.real_low, a.real_high, b.real_low, b.real_high, [](double x, double y) { return x * y; });
            return reals(low, high);
        }
        case Op::divide: {
            if (b.real_low <= 0 && b.real_high >= 0) return {{}, false};
            const auto [low, high] =
                corners(a.real_low, a.real_high, b.real_low, b.real_high, [](double x, double y) { return x / y; });
            return reals(low, high);
        }
        case Op::minimum: return reals(std::min(a.real_low, b.real_low), std::min(a.real_high, b.real_high));
        case Op::maximum: return reals(std::max(a.real_low, b.real_low), std::max(a.real_high, b.real_high));
        case Op::absolute:
            return reals(a.real_low > 0    ? a.real_low
                         : a.real_high < 0 ? -a.real_high
                                           : 0,
                         std::max(std::abs(a.real_low), std::abs(a.real_high)));
        case Op::floor: return rounded(std::floor(a.real_low), std::floor(a.real_high));
        case Op::ceil: return rounded(std::ceil(a.real_low), std::ceil(a.real_high));
        case Op::truncate: return rounded(std::trunc(a.real_low), std::trunc(a.real_high));
        case Op::sine:
        case Op::cosine: return reals(-1, 1);
        default: return {{}, false};
    }
}

}  // namespace

Ranged range_of(Op op, Type type, const Range &a, const Range &b, const Range &c) {
    switch (op) {
        case Op::conjunction:
        case Op::disjunction:
        case Op::negation:
        case Op::equal:
        case Op::not_equal:
        case Op::less:
        case Op::less_equal: return integers(0, 1);
        case Op::sign: return integers(-1, 1);
        case Op::to_real: return reals(static_cast<double>(a.low), static_cast<double>(a.high));
        case Op::ite:
            if (type == Type::real) return reals(std::min(b.real_low, c.real_low), std::max(b.real_high, c.real_high));
            return integers(std::min(b.low, c.low), std::max(b.high, c.high));
        default: return type == Type::real ? real_range(op, a, b) : integer_range(op, a, b);
    }
}

}  // namespace misstep::jani
