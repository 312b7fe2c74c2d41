#include "jani/operators.h"

namespace misstep::jani {

namespace {

Word compute_integer(Op op, Word a, Word b) {
    switch (op) {
        case Op::add: return operators::add(a, b);
        case Op::subtract: return operators::subtract(a, b);
        case Op::multiply: return operators::multiply(a, b);
        case Op::modulo: return operators::modulo(a, b);
        case Op::minimum: return std::min(a, b);
        case Op::maximum: return std::max(a, b);
        case Op::absolute: return operators::absolute(a);
        case Op::sign: return operators::sign(a);
        case Op::equal: return a == b;
        case Op::not_equal: return a != b;
        case Op::less: return a < b;
        case Op::less_equal: return a <= b;
        default: throw Fault{"no such operation on integers"};
    }
}

Word compute_real(Op op, double a, double b) {
    const auto real = [](double value) { return from_real(operators::finite(value)); };
    switch (op) {
        case Op::add: return real(a + b);
        case Op::subtract: return real(a - b);
        case Op::multiply: return real(a * b);
        case Op::divide: return from_real(operators::divide(a, b));
        case Op::minimum: return from_real(std::min(a, b));
        case Op::maximum: return from_real(std::max(a, b));
        case Op::absolute: return from_real(std::abs(a));
        case Op::sign: return operators::sign_of_real(a);
        case Op::floor: return operators::to_integer(std::floor(a));
        case Op::ceil: return operators::to_integer(std::ceil(a));
        case Op::truncate: return operators::to_integer(std::trunc(a));
        case Op::power: return real(std::pow(a, b));
        case Op::logarithm: return from_real(operators::logarithm(a, b));
        case Op::sine: return from_real(std::sin(a));
        case Op::cosine: return from_real(std::cos(a));
        case Op::equal: return a == b;
        case Op::not_equal: return a != b;
        case Op::less: return a < b;
        case Op::less_equal: return a <= b;
        default: throw Fault{"no such operation on reals"};
    }
}

}  // namespace

bool vanishes(Op op, double a, double b, double result) {
    if (result != 0 || a == 0) return false;
    return op == Op::divide || op == Op::power || (op == Op::multiply && b != 0);
}

Word compute(Op op, Type type, Word a, Word b, Word c) {
    switch (op) {
        case Op::conjunction: return a != 0 && b != 0;
        case Op::disjunction: return a != 0 || b != 0;
        case Op::negation: return a == 0;
        case Op::ite: return a != 0 ? b : c;
        case Op::to_real: return from_real(static_cast<double>(a));
        default: return type == Type::real ? compute_real(op, as_real(a), as_real(b)) : compute_integer(op, a, b);
    }
}

}  // namespace misstep::jani
