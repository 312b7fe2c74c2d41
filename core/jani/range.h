#pragma once

#include "jani/expression.h"

namespace misstep::jani {

struct Ranged {
    Range range;
    bool total;  // no argument within its range makes the operation fail
};

// The results of an operation, given the ranges of its arguments. `type` is that of the arguments.
Ranged range_of(Op op, Type type, const Range &a, const Range &b, const Range &c);

}  // namespace misstep::jani
