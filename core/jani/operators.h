#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "jani/expression.h"

// The operators. Constant folding and programs both use them, so that there is only one semantics.
//
// Integers are exact, and a result that does not fit in 64 bits is an error. A result of an operation on reals that is not
// finite is an error. The compiler must not contract or reorder these operations, so a plain Python evaluator computes the
// same bits.
namespace misstep::jani {

// An operation without a result. The caller adds the place and the state.
struct Fault {
    const char *what;
};

namespace operators {

inline Word add(Word a, Word b) {
    Word result;
    if (__builtin_add_overflow(a, b, &result)) throw Fault{"the integer result of + does not fit in 64 bits"};
    return result;
}
inline Word subtract(Word a, Word b) {
    Word result;
    if (__builtin_sub_overflow(a, b, &result)) throw Fault{"the integer result of - does not fit in 64 bits"};
    return result;
}
inline Word multiply(Word a, Word b) {
    Word result;
    if (__builtin_mul_overflow(a, b, &result)) throw Fault{"the integer result of * does not fit in 64 bits"};
    return result;
}
// The remainder is never negative.
inline Word modulo(Word a, Word b) {
    if (b <= 0) throw Fault{"the modulus of % is not positive"};
    const Word rest = a % b;
    return rest < 0 ? rest + b : rest;
}
inline Word absolute(Word a) { return a < 0 ? subtract(0, a) : a; }
inline Word sign(Word a) { return a < 0 ? -1 : a > 0 ? 1 : 0; }

inline double finite(double value) {
    if (!std::isfinite(value)) throw Fault{"a real result is infinite or not a number"};
    return value;
}
inline double divide(double a, double b) {
    if (b == 0) throw Fault{"division by zero"};
    return finite(a / b);
}
inline double logarithm(double a, double base) { return divide(finite(std::log(a)), finite(std::log(base))); }
inline Word sign_of_real(double a) { return a < 0 ? -1 : a > 0 ? 1 : 0; }
inline Word to_integer(double whole) {
    if (!(whole >= -0x1p63 && whole < 0x1p63)) throw Fault{"the rounded real does not fit in 64 bits"};
    return static_cast<Word>(whole);
}

}  // namespace operators

// Whether an operation on reals has the result 0 only because the true one is too small for a double.
bool vanishes(Op op, double a, double b, double result);

// One operation on constants. `type` is that of the arguments (of the branches, for ite).
Word compute(Op op, Type type, Word a, Word b, Word c);

}  // namespace misstep::jani
