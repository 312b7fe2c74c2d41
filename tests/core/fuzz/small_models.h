#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bytes.h"
#include "jani/operators.h"

// Variables of small models, expressions over them whose types fit, and what such an expression is by definition.
namespace misstep::test {

class Drawer {
   public:
    explicit Drawer(Bytes &bytes) : bytes_(bytes), e_(std::make_unique<jani::Expressions>()) {
        for (int left = 1 + bytes.below(5); left > 0; --left) declare();
        if (bytes.below(3) == 0) {
            length_ = 2 + bytes.below(2);
            first_ = static_cast<jani::SlotId>(e_->slots().size());
            for (int i = 0; i < length_; ++i) declare_integer(-1, 2);
        }
    }
    std::unique_ptr<jani::Expressions> take() { return std::move(e_); }
    jani::Expressions &expressions() { return *e_; }
    jani::SlotId array() const { return first_; }
    int array_length() const { return length_; }  // 0: there is none

    jani::SlotId declare_integer(jani::Word low, jani::Word high) {
        jani::Slot slot{jani::Type::integer, false, true, {}, "i"};
        slot.range.low = low;
        slot.range.high = high;
        return e_->declare(slot);
    }
    jani::ExprId conditions() {
        jani::ExprId result = e_->boolean(true);
        for (int left = 1 + bytes_.below(5); left > 0; --left)
            result = e_->apply(jani::Op::conjunction, {result, condition(2)});
        return result;
    }
    jani::ExprId condition(int depth) {
        using jani::Op;
        constexpr Op COMPARISONS[] = {Op::equal, Op::not_equal, Op::less, Op::less_equal, Op::greater_equal, Op::equal};
        const int choice = bytes_.below(depth > 0 ? 13 : 8);
        if (choice < 6) return e_->apply(COMPARISONS[choice], {number(2), number(2)});
        if (choice == 6) return e_->apply(Op::equal, {variable(jani::Type::integer), constant()});
        if (choice == 7) return variable(jani::Type::boolean);
        if (choice == 8) return e_->apply(Op::negation, {condition(depth - 1)});
        constexpr Op LOGIC[] = {Op::conjunction, Op::disjunction, Op::implication, Op::disjunction};
        return e_->apply(LOGIC[choice - 9], {condition(depth - 1), condition(depth - 1)});
    }
    // An integer or a real.
    jani::ExprId number(int depth) {
        using jani::Op;
        const int choice = bytes_.below(depth > 0 ? 10 : 2);
        if (choice == 0) return bytes_.below(3) ? variable(jani::Type::real) : real();
        if (choice == 1 || choice > 5) return integer(depth);
        if (choice == 2) return e_->apply(Op::ite, {condition(depth - 1), number(depth - 1), number(depth - 1)});
        constexpr Op OPS[] = {Op::divide, Op::add, Op::multiply};
        return e_->apply(OPS[choice - 3], {number(depth - 1), number(depth - 1)});
    }
    jani::ExprId integer(int depth) {
        using jani::Op;
        const int choice = bytes_.below(depth > 0 ? 13 : 5);
        if (choice < 3) return variable(jani::Type::integer);
        if (choice < 5) return constant();
        if (choice == 5) return e_->apply(Op::ite, {condition(depth - 1), integer(depth - 1), integer(depth - 1)});
        if (choice == 6) return length_ > 0 ? e_->element(first_, length_, integer(depth - 1)) : constant();
        constexpr Op OPS[] = {Op::add, Op::subtract, Op::multiply, Op::modulo, Op::minimum, Op::maximum};
        return e_->apply(OPS[choice - 7], {integer(depth - 1), integer(depth - 1)});
    }

   private:
    void declare() {
        using jani::Type;
        switch (bytes_.below(6)) {
            case 0: {
                jani::Range truth;
                truth.low = 0;
                truth.high = 1;
                e_->declare({Type::boolean, false, true, truth, "b"});
                break;
            }
            case 1: e_->declare({Type::integer, false, false, {}, "free"}); break;
            case 2: {
                jani::Slot slot{Type::real, false, bytes_.below(2) != 0, {}, "r"};
                if (slot.bounded) {
                    slot.range.real_low = -1;
                    slot.range.real_high = 1;
                }
                e_->declare(slot);
                break;
            }
            default: {
                const jani::Word low = bytes_.below(6) - 3;
                declare_integer(low, low + bytes_.below(9));
            }
        }
    }
    // A constant, if there is no variable of the type.
    jani::ExprId variable(jani::Type type) {
        std::vector<jani::SlotId> fitting;
        for (jani::SlotId slot = 0; slot < e_->slots().size(); ++slot)
            if (e_->slots()[slot].type == type) fitting.push_back(slot);
        if (!fitting.empty()) return e_->variable(fitting[bytes_.below(static_cast<int>(fitting.size()))]);
        if (type == jani::Type::boolean) return e_->boolean(bytes_.below(2) != 0);
        return type == jani::Type::integer ? constant() : real();
    }
    jani::ExprId real() {
        constexpr double REALS[] = {0.5, -0.25, 1, 1e-300, 1e17, 0.1};
        return e_->constant(jani::Type::real, jani::stored_real(REALS[bytes_.below(6)]));
    }
    jani::ExprId constant() { return e_->constant(jani::Type::integer, bytes_.below(9) - 3); }

    Bytes &bytes_;
    std::unique_ptr<jani::Expressions> e_;
    jani::SlotId first_ = 0;
    int length_ = 0;
};

// By definition: node by node. Throws a Fault if there is no result.
inline jani::Word value_of(const jani::Expressions &e, jani::ExprId id, const std::vector<jani::Word> &state) {
    using jani::Op;
    const jani::Expressions::Node &node = e[id];
    const auto argument = [&](int i) { return value_of(e, node.arguments[static_cast<std::size_t>(i)], state); };
    switch (node.op) {
        case Op::constant: return node.word;
        case Op::variable: return state[static_cast<std::size_t>(node.word)];
        case Op::within:
        case Op::element: {
            const jani::Word index = argument(0);
            if (index < 0 || index >= node.length) throw jani::Fault{"an index outside of its array"};
            return node.op == Op::within ? index : state[static_cast<std::size_t>(node.word + index)];
        }
        case Op::conjunction: return argument(0) != 0 ? argument(1) : 0;
        case Op::disjunction: return argument(0) != 0 ? 1 : argument(1);
        case Op::ite: return argument(0) != 0 ? argument(1) : argument(2);
        default: {
            const jani::Word first = argument(0), second = node.arguments[1] == jani::NO_EXPRESSION ? 0 : argument(1);
            return jani::compute(node.op, e[node.arguments[0]].type, first, second, 0);
        }
    }
}

// Nothing, if the condition has no result.
inline std::optional<bool> holds(const jani::Expressions &e, jani::ExprId condition,
                                 const std::vector<jani::Word> &state) {
    try {
        return value_of(e, condition, state) != 0;
    } catch (const jani::Fault &) {
        return std::nullopt;
    }
}

}  // namespace misstep::test
