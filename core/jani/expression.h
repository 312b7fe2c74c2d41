#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jani/value.h"

namespace misstep::jani {

// Greater, greater-or-equal and implication are rewritten on entry, and mixed arithmetic gets explicit
// conversions, so later stages see few forms.
// clang-format off
enum class Op : std::uint8_t {
    constant, variable, element, within, conjunction, disjunction, negation, equal, not_equal, less, less_equal, add, subtract,
    multiply, divide, modulo, minimum, maximum, floor, ceil, absolute, sign, truncate, power, logarithm, sine, cosine,
    ite, to_real, greater, greater_equal, implication
};
// clang-format on

using ExprId = std::int32_t;
using SlotId = std::uint32_t;
inline constexpr ExprId NO_EXPRESSION = -1;

// The interval in which every result lies: `low` and `high` for Booleans and integers, `real_low` and `real_high` for reals.
struct Range {
    Word low = std::numeric_limits<Word>::min();
    Word high = std::numeric_limits<Word>::max();
    double real_low = -std::numeric_limits<double>::max();
    double real_high = std::numeric_limits<double>::max();
};

// A place for a value: a state variable (also an array cell or a location), or a transient variable.
struct Slot {
    Type type;
    bool transient;
    bool bounded;
    Range range;
    std::string name;

    bool contains(Word value) const {
        if (type == Type::real) return as_real(value) >= range.real_low && as_real(value) <= range.real_high;
        return value >= range.low && value <= range.high;
    }
};

// All expressions of a model, each distinct one once. Nodes are typed, constants are folded, and for every node the
// range of its results is known and whether it is total, that is, whether it has a result in every state. Ranges tell
// which checks can be left out and which conditions may be tested in another order. They also hold for rounded reals,
// since rounding is monotone.
class Expressions {
   public:
    struct Node {
        Op op;
        Type type;
        bool total;
        std::array<ExprId, 3> arguments{NO_EXPRESSION, NO_EXPRESSION, NO_EXPRESSION};
        Word word = 0;    // the constant, the slot of a variable, the first slot of an array
        Word length = 0;  // of an array, or what an index must be below
    };

    SlotId declare(Slot slot);
    const std::vector<Slot> &slots() const { return slots_; }

    ExprId constant(Type type, Word value);
    ExprId boolean(bool value) { return constant(Type::boolean, value); }
    ExprId variable(SlotId slot);
    // The value of the index. Values outside 0 to length - 1 are an error when the expression is evaluated.
    ExprId within(ExprId index, std::int64_t length);
    // The cell at `index` of `length` slots from `first` on.
    ExprId element(SlotId first, std::int64_t length, ExprId index);
    // Throws a ModelError if the types do not fit.
    ExprId apply(Op op, std::span<const ExprId> arguments);
    ExprId apply(Op op, std::initializer_list<ExprId> arguments) {
        return apply(op, std::span<const ExprId>(arguments.begin(), arguments.size()));
    }
    ExprId convert(ExprId e, Type type);  // integers to reals; any other type must be equal

    const Node &operator[](ExprId e) const { return nodes_[e]; }
    const Range &range(ExprId e) const { return ranges_[e]; }
    bool is_constant(ExprId e) const { return nodes_[e].op == Op::constant; }
    bool is_constant(ExprId e, Type type, Word value) const {
        return is_constant(e) && nodes_[e].type == type && nodes_[e].word == value;
    }

    std::vector<ExprId> conjuncts(ExprId e) const;    // from left to right
    std::vector<SlotId> support(ExprId e) const;      // the slots that it reads, in ascending order
    std::size_t size() const { return nodes_.size(); }

   private:
    struct Key {
        Op op;
        Type type;
        std::array<ExprId, 3> arguments;
        Word word;
        Word length;
        bool operator==(const Key &) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key &key) const;
    };

    ExprId intern(Node node, const Range &range);
    ExprId build(Op op, Type type, std::array<ExprId, 3> arguments);
    ExprId negate(ExprId e);
    ExprId logical(Op op, ExprId left, ExprId right);
    void require(Op op, ExprId e, bool numeric, const char *expected) const;

    std::vector<Slot> slots_;
    std::vector<Node> nodes_;
    std::vector<Range> ranges_;
    std::unordered_map<Key, ExprId, KeyHash> index_;
};

const char *symbol(Op op);
bool parse_op(std::string_view symbol, Op &op, int &arity);

}  // namespace misstep::jani
