#pragma once

#include <optional>
#include <vector>

#include "jani/expression.h"

namespace misstep::jani {

// The sum of weight * slot over the terms, plus a constant. A form over reals may also have integer slots.
template <class Number>
struct Linear {
    std::vector<std::pair<SlotId, Number>> terms;  // by slot, weights not zero
    Number constant = 0;
};

// left - right as a linear form over integers and Booleans, if it is one and every step of it fits in 64 bits.
std::optional<Linear<Word>> integer_difference(const Expressions &expressions, ExprId left, ExprId right);

// The same over all numbers, with rounded weights: for bounds and scales, not for decisions.
std::optional<Linear<double>> difference(const Expressions &expressions, ExprId left, ExprId right);

}  // namespace misstep::jani
