#include "jani/program.h"

namespace misstep::jani {

namespace {

// A short model can expand to an enormous amount of code, if it shares expressions many times.
constexpr std::size_t MAX_CODE = 50'000'000;

Code code_of(Op op, Type type) {
    const bool real = type == Type::real;
    switch (op) {
        case Op::add: return real ? Code::add_r : Code::add_i;
        case Op::subtract: return real ? Code::subtract_r : Code::subtract_i;
        case Op::multiply: return real ? Code::multiply_r : Code::multiply_i;
        case Op::divide: return Code::divide_r;
        case Op::modulo: return Code::modulo_i;
        case Op::minimum: return real ? Code::minimum_r : Code::minimum_i;
        case Op::maximum: return real ? Code::maximum_r : Code::maximum_i;
        case Op::floor: return Code::floor_r;
        case Op::ceil: return Code::ceil_r;
        case Op::truncate: return Code::truncate_r;
        case Op::absolute: return real ? Code::absolute_r : Code::absolute_i;
        case Op::sign: return real ? Code::sign_r : Code::sign_i;
        case Op::power: return Code::power_r;
        case Op::logarithm: return Code::logarithm_r;
        case Op::sine: return Code::sine_r;
        case Op::cosine: return Code::cosine_r;
        case Op::equal: return real ? Code::equal_r : Code::equal_i;
        case Op::not_equal: return real ? Code::not_equal_r : Code::not_equal_i;
        case Op::less: return real ? Code::less_r : Code::less_i;
        case Op::less_equal: return real ? Code::less_equal_r : Code::less_equal_i;
        case Op::to_real: return Code::to_real;
        case Op::negation: return Code::negate;
        default: throw std::logic_error("no instruction for this operator");
    }
}

// The instruction that stops unless the comparison holds.
Code requirement(Op op, Type type) {
    const bool real = type == Type::real;
    switch (op) {
        case Op::equal: return real ? Code::require_equal_r : Code::require_equal_i;
        case Op::not_equal: return real ? Code::require_not_equal_r : Code::require_not_equal_i;
        case Op::less: return real ? Code::require_less_r : Code::require_less_i;
        case Op::less_equal: return real ? Code::require_less_equal_r : Code::require_less_equal_i;
        default: return Code::require;
    }
}

}  // namespace

Programs::Programs(const Expressions &expressions)
    : expressions_(expressions), registers_(expressions.slots().size(), 0) {}

void Programs::emit(Code code, Register target, Register a, Register b) {
    if (code_.size() >= MAX_CODE)
        throw ModelError("the expressions of the model are too large", "", "at most 50 million operations", "", true);
    code_.push_back({code, target, a, b});
}

Register Programs::temporary(std::size_t depth) {
    while (temporaries_.size() <= depth) {
        temporaries_.push_back(static_cast<Register>(registers_.size()));
        registers_.push_back(0);
    }
    return temporaries_[depth];
}

Register Programs::compile(ExprId e, std::size_t depth) {
    const Expressions::Node &node = expressions_[e];
    if (node.op == Op::variable) return static_cast<Register>(node.word);
    if (node.op == Op::constant) {
        const auto [entry, is_new] = constants_.try_emplace(node.word, static_cast<Register>(registers_.size()));
        if (is_new) registers_.push_back(node.word);
        return entry->second;
    }
    const Register target = temporary(depth);
    compile_to(e, target, depth);
    return target;
}

// The result is in `target`; temporaries from `depth` on are free.
void Programs::compile_to(ExprId e, Register target, std::size_t depth) {
    const Expressions::Node &node = expressions_[e];
    switch (node.op) {
        case Op::variable:
        case Op::constant: emit(Code::move, target, compile(e, depth)); return;
        case Op::conjunction:
        case Op::disjunction: {
            compile_to(node.arguments[0], target, depth);
            const std::uint32_t jump = here();
            emit(node.op == Op::conjunction ? Code::jump_if_false : Code::jump_if_true, 0, target);
            compile_to(node.arguments[1], target, depth);
            code_[jump].target = here();
            return;
        }
        case Op::ite: {
            const Register condition = compile(node.arguments[0], depth);
            const std::uint32_t to_else = here();
            emit(Code::jump_if_false, 0, condition);
            compile_to(node.arguments[1], target, depth);
            const std::uint32_t to_end = here();
            emit(Code::jump, 0);
            code_[to_else].target = here();
            compile_to(node.arguments[2], target, depth);
            code_[to_end].target = here();
            return;
        }
        case Op::element:
            emit(Code::element, target, compile(node.arguments[0], depth), static_cast<Register>(node.word));
            return;
        case Op::within:
            emit(Code::within, target, compile(node.arguments[0], depth), static_cast<Register>(node.length));
            return;
        default: {
            const Register a = compile(node.arguments[0], depth);
            const Register b = node.arguments[1] == NO_EXPRESSION ? 0 : compile(node.arguments[1], depth + 1);
            emit(code_of(node.op, expressions_[node.arguments[0]].type), target, a, b);
        }
    }
}

Program Programs::value(ExprId e) {
    const std::uint32_t begin = here();
    const Register result = compile(e, 0);
    if (here() == begin) return {Program::NO_CODE, result};
    emit(Code::halt, 0);
    return {begin, result};
}

void Programs::require(ExprId e) {
    const Expressions::Node &node = expressions_[e];
    const Type type = node.arguments[0] == NO_EXPRESSION ? Type::boolean : expressions_[node.arguments[0]].type;
    const Code code = requirement(node.op, type);
    if (code == Code::require) {
        emit(Code::require, 0, compile(e, 0));
    } else {
        const Register a = compile(node.arguments[0], 0);
        const Register b = compile(node.arguments[1], 1);
        emit(code, 0, a, b);
    }
}

Condition Programs::condition(const std::vector<ExprId> &conjuncts) {
    if (conjuncts.empty()) return {};
    if (expressions_.is_constant(conjuncts.front(), Type::boolean, 0)) return {Program::NO_CODE, true};
    const std::uint32_t begin = here();
    for (ExprId e : conjuncts) require(e);
    emit(Code::halt, 0);
    return {begin, false};
}

}  // namespace misstep::jani
