#include "jani/linear.h"

#include <cmath>
#include <map>
#include <type_traits>

namespace misstep::jani {

namespace {

template <class Number>
struct Form {
    std::map<SlotId, Number> weights;
    Number constant = 0;
};

// Exact for integers: false if a coefficient does not fit.
template <class Number>
bool add_scaled(Number &sum, Number value, Number factor) {
    if constexpr (std::is_same_v<Number, Word>) {
        Word product;
        return !__builtin_mul_overflow(value, factor, &product) && !__builtin_add_overflow(sum, product, &sum);
    } else {
        sum += value * factor;
        return std::isfinite(sum);
    }
}

// Nodes are shared, but each visit adds to the weights, so shared nodes are visited many times. The number of visits is
// therefore limited.
constexpr int MAX_VISITS = 100'000;

template <class Number>
class Collector {
   public:
    Collector(const Expressions &expressions, Form<Number> &form) : expressions_(expressions), form_(form) {}

    bool collect(ExprId e, Number factor) {
        if (++visits_ > MAX_VISITS) return false;
        const Expressions::Node &node = expressions_[e];
        switch (node.op) {
            case Op::constant: return add_scaled(form_.constant, number(node), factor);
            case Op::variable:
                if (std::is_same_v<Number, Word> && node.type == Type::real) return false;
                return add_scaled(form_.weights[static_cast<SlotId>(node.word)], Number{1}, factor);
            case Op::to_real: return collect(node.arguments[0], factor);
            case Op::add: return collect(node.arguments[0], factor) && collect(node.arguments[1], factor);
            case Op::subtract: return collect(node.arguments[0], factor) && collect(node.arguments[1], -factor);
            case Op::multiply:
                for (int i : {0, 1})
                    if (expressions_.is_constant(node.arguments[i])) {
                        Number scaled = 0;
                        return add_scaled(scaled, number(expressions_[node.arguments[i]]), factor) &&
                               collect(node.arguments[1 - i], scaled);
                    }
                return false;
            case Op::divide: {
                if (std::is_same_v<Number, Word> || !expressions_.is_constant(node.arguments[1])) return false;
                const Number divisor = number(expressions_[node.arguments[1]]);
                return divisor != 0 && collect(node.arguments[0], factor / divisor);
            }
            default: return false;
        }
    }

   private:
    static Number number(const Expressions::Node &node) {
        if constexpr (std::is_same_v<Number, Word>) return node.word;
        else return node.type == Type::real ? as_real(node.word) : static_cast<double>(node.word);
    }

    const Expressions &expressions_;
    Form<Number> &form_;
    int visits_ = 0;
};

template <class Number>
std::optional<Linear<Number>> linear(const Expressions &expressions, ExprId left, ExprId right) {
    Form<Number> form;
    Collector<Number> collector(expressions, form);
    if (!collector.collect(left, 1) || !collector.collect(right, -1)) return std::nullopt;
    Linear<Number> result{{}, form.constant};
    for (const auto &[slot, weight] : form.weights)
        if (weight != 0) result.terms.emplace_back(slot, weight);
    return result;
}

}  // namespace

std::optional<Linear<Word>> integer_difference(const Expressions &expressions, ExprId left, ExprId right) {
    if (expressions[left].type == Type::real || expressions[right].type == Type::real) return std::nullopt;
    // Where a partial sum of the model could exceed 64 bits, another order of summation would not be equivalent.
    if (!expressions[left].total || !expressions[right].total) return std::nullopt;
    return linear<Word>(expressions, left, right);
}

std::optional<Linear<double>> difference(const Expressions &expressions, ExprId left, ExprId right) {
    return linear<double>(expressions, left, right);
}

}  // namespace misstep::jani
