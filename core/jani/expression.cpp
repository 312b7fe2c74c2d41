#include "jani/expression.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "jani/operators.h"
#include "jani/range.h"

namespace misstep::jani {

namespace {

struct Spelling {
    const char *symbol;
    int arity;
};

// In the order of Op. Operators with arity 0 have no name in JANI files.
constexpr Spelling SPELLINGS[] = {
    {"constant", 0}, {"variable", 0}, {"aa", 0},    {"index", 0}, {"∧", 2},       {"∨", 2},   {"¬", 1},   {"=", 2},
    {"≠", 2},        {"<", 2},        {"≤", 2},     {"+", 2},     {"-", 2},       {"*", 2},   {"/", 2},   {"%", 2},
    {"min", 2},      {"max", 2},      {"floor", 1}, {"ceil", 1},  {"abs", 1},     {"sgn", 1}, {"trc", 1}, {"pow", 2},
    {"log", 2},      {"sin", 1},      {"cos", 1},   {"ite", 3},   {"to real", 0}, {">", 2},   {"≥", 2},   {"⇒", 2}};

}  // namespace

const char *symbol(Op op) { return SPELLINGS[static_cast<int>(op)].symbol; }

bool parse_op(std::string_view symbol, Op &op, int &arity) {
    for (std::size_t i = 0; i < std::size(SPELLINGS); ++i)
        if (SPELLINGS[i].arity > 0 && symbol == SPELLINGS[i].symbol) {
            op = static_cast<Op>(i);
            arity = SPELLINGS[i].arity;
            return true;
        }
    return false;
}

std::size_t Expressions::KeyHash::operator()(const Key &key) const {
    const std::uint64_t words[] = {
        static_cast<std::uint64_t>(key.op) << 8 | static_cast<std::uint64_t>(key.type),
        static_cast<std::uint64_t>(key.arguments[0]) << 32 | static_cast<std::uint32_t>(key.arguments[1]),
        static_cast<std::uint64_t>(key.arguments[2]), static_cast<std::uint64_t>(key.word),
        static_cast<std::uint64_t>(key.length)};
    return hash_words(words, std::size(words));
}

SlotId Expressions::declare(Slot slot) {
    slots_.push_back(std::move(slot));
    return static_cast<SlotId>(slots_.size() - 1);
}

ExprId Expressions::intern(Node node, const Range &range) {
    const Key key{node.op, node.type, node.arguments, node.word, node.length};
    const auto [entry, is_new] = index_.try_emplace(key, static_cast<ExprId>(nodes_.size()));
    if (is_new) {
        nodes_.push_back(node);
        ranges_.push_back(range);
    }
    return entry->second;
}

ExprId Expressions::constant(Type type, Word value) {
    Node node{Op::constant, type, true};
    node.word = value;
    Range range;
    if (type == Type::real) range.real_low = range.real_high = as_real(value);
    else range.low = range.high = value;
    return intern(node, range);
}

ExprId Expressions::variable(SlotId slot) {
    Node node{Op::variable, slots_[slot].type, true};
    node.word = slot;
    return intern(node, slots_[slot].range);
}

ExprId Expressions::within(ExprId index, std::int64_t length) {
    if (nodes_[index].type != Type::integer)
        throw ModelError(std::string("the index is of type ") + name(nodes_[index].type), "", "an integer");
    // An index outside the array, even a constant one, is an error only if the expression is evaluated.
    Range range = ranges_[index];
    if (range.low >= 0 && range.high < length) return index;
    range.low = std::clamp<Word>(range.low, 0, length - 1);
    range.high = std::clamp<Word>(range.high, 0, length - 1);
    Node node{Op::within, Type::integer, false};
    node.arguments[0] = index;
    node.length = length;
    return intern(node, range);
}

ExprId Expressions::element(SlotId first, std::int64_t length, ExprId given) {
    const ExprId index = within(given, length);
    if (is_constant(index)) return variable(first + static_cast<SlotId>(nodes_[index].word));
    Node node{Op::element, slots_[first].type, nodes_[index].total};
    node.arguments[0] = index;
    node.word = first;
    node.length = length;
    return intern(node, slots_[first].range);  // all cells of an array have one type
}

void Expressions::require(Op op, ExprId e, bool numeric, const char *expected) const {
    if ((nodes_[e].type != Type::boolean) != numeric)
        throw ModelError(std::string("an operand of ") + symbol(op) + " is of type " + name(nodes_[e].type), "",
                         expected);
}

ExprId Expressions::convert(ExprId e, Type type) {
    if (nodes_[e].type == type) return e;
    if (nodes_[e].type == Type::integer && type == Type::real)
        return build(Op::to_real, Type::real, {e, NO_EXPRESSION, NO_EXPRESSION});
    throw ModelError(std::string("this is of type ") + name(nodes_[e].type), "", std::string("type ") + name(type));
}

ExprId Expressions::negate(ExprId e) {
    const Node node = nodes_[e];
    if (node.op == Op::constant) return boolean(node.word == 0);
    // Reals are never NaN, so the opposite of a comparison is a comparison.
    switch (node.op) {
        case Op::negation: return node.arguments[0];
        case Op::equal: return build(Op::not_equal, Type::boolean, node.arguments);
        case Op::not_equal: return build(Op::equal, Type::boolean, node.arguments);
        case Op::less:
            return build(Op::less_equal, Type::boolean, {node.arguments[1], node.arguments[0], NO_EXPRESSION});
        case Op::less_equal:
            return build(Op::less, Type::boolean, {node.arguments[1], node.arguments[0], NO_EXPRESSION});
        default: return build(Op::negation, Type::boolean, {e, NO_EXPRESSION, NO_EXPRESSION});
    }
}

// Operands are evaluated from left to right, and the second one only if the first does not decide the result. An operand may
// be dropped if it is never evaluated, or if it always has a result.
ExprId Expressions::logical(Op op, ExprId left, ExprId right) {
    const Word neutral = op == Op::conjunction ? 1 : 0;
    if (is_constant(left)) return nodes_[left].word == neutral ? right : left;
    if (is_constant(right)) {
        if (nodes_[right].word == neutral) return left;
        if (nodes_[left].total) return right;
    }
    if (left == right) return left;
    return build(op, Type::boolean, {left, right, NO_EXPRESSION});
}

ExprId Expressions::apply(Op op, std::span<const ExprId> arguments) {
    const auto argument = [&](std::size_t i) { return i < arguments.size() ? arguments[i] : NO_EXPRESSION; };
    ExprId a = argument(0), b = argument(1);
    switch (op) {
        case Op::conjunction:
        case Op::disjunction:
        case Op::implication:
        case Op::negation:
            for (ExprId e : arguments) require(op, e, false, "Booleans");
            if (op == Op::negation) return negate(a);
            if (op == Op::implication) return logical(Op::disjunction, negate(a), b);
            return logical(op, a, b);
        case Op::ite: {
            require(op, a, false, "a Boolean condition");
            ExprId c = argument(2);
            if ((nodes_[b].type == Type::boolean) != (nodes_[c].type == Type::boolean))
                throw ModelError(std::string("the branches of ite are of type ") + name(nodes_[b].type) + " and " +
                                     name(nodes_[c].type),
                                 "", "two branches of one type");
            const Type type = std::max(nodes_[b].type, nodes_[c].type);
            b = convert(b, type);
            c = convert(c, type);
            if (is_constant(a)) return nodes_[a].word != 0 ? b : c;
            return build(op, type, {a, b, c});
        }
        default: break;
    }
    if (op == Op::equal || op == Op::not_equal) {
        if ((nodes_[a].type == Type::boolean) != (nodes_[b].type == Type::boolean))
            throw ModelError(std::string(name(nodes_[a].type)) + " " + symbol(op) + " " + name(nodes_[b].type), "",
                             "two Booleans or two numbers");
    } else {
        for (ExprId e : arguments) require(op, e, true, "numbers");
    }
    Type type = nodes_[a].type;
    if (arguments.size() == 2) type = std::max(type, nodes_[b].type);
    switch (op) {
        case Op::modulo:
            if (type == Type::real) throw ModelError("an operand of % is of type real", "", "integers");
            break;
        case Op::divide:
        case Op::power:
        case Op::logarithm:
        case Op::floor:
        case Op::ceil:
        case Op::truncate:
        case Op::sine:
        case Op::cosine: type = Type::real; break;
        default: break;
    }
    a = convert(a, type);
    if (b != NO_EXPRESSION) b = convert(b, type);
    if (op == Op::greater || op == Op::greater_equal) {
        std::swap(a, b);
        op = op == Op::greater ? Op::less : Op::less_equal;
    }
    switch (op) {
        case Op::equal:
        case Op::not_equal:
        case Op::less:
        case Op::less_equal: type = Type::boolean; break;
        case Op::floor:
        case Op::ceil:
        case Op::truncate:
        case Op::sign: type = Type::integer; break;
        default: break;
    }
    return build(op, type, {a, b, NO_EXPRESSION});
}

ExprId Expressions::build(Op op, Type type, std::array<ExprId, 3> arguments) {
    Node node{op, type, true, arguments};
    const Range none;
    const auto range = [&](int i) { return arguments[i] == NO_EXPRESSION ? none : ranges_[arguments[i]]; };
    // For `ite` the argument type is the type of the branches.
    const Type argument_type = nodes_[arguments[op == Op::ite ? 1 : 0]].type;
    const Ranged result = range_of(op, argument_type, range(0), range(1), range(2));
    node.total = result.total;
    bool all_constant = true;
    for (ExprId e : arguments)
        if (e != NO_EXPRESSION) {
            node.total = node.total && nodes_[e].total;
            all_constant = all_constant && is_constant(e);
        }
    if (all_constant) {
        Word value = 0;
        try {
            const Word a = nodes_[arguments[0]].word;
            const Word b = arguments[1] == NO_EXPRESSION ? 0 : nodes_[arguments[1]].word;
            const Word c = arguments[2] == NO_EXPRESSION ? 0 : nodes_[arguments[2]].word;
            value = compute(op, argument_type, a, b, c);
            // Kept as an operation, since it matters whether a probability is 0.
            if (type == Type::real && argument_type == Type::real &&
                vanishes(op, as_real(a), as_real(b), as_real(value)))
                return intern(node, result.range);
        } catch (const Fault &) {
            return intern(node, result.range);  // an error if it is ever evaluated
        }
        return constant(type, value);
    }
    return intern(node, result.range);
}

std::vector<ExprId> Expressions::conjuncts(ExprId e) const {
    std::vector<ExprId> result, open{e};
    while (!open.empty()) {
        const ExprId top = open.back();
        open.pop_back();
        if (nodes_[top].op == Op::conjunction) {
            open.push_back(nodes_[top].arguments[1]);
            open.push_back(nodes_[top].arguments[0]);
        } else if (!is_constant(top, Type::boolean, 1)) {
            result.push_back(top);
        }
    }
    return result;
}

std::vector<SlotId> Expressions::support(ExprId e) const {
    std::set<SlotId> slots;
    std::set<ExprId> seen{e};
    std::vector<ExprId> open{e};
    while (!open.empty()) {
        const Node &node = nodes_[open.back()];
        open.pop_back();
        if (node.op == Op::variable) slots.insert(static_cast<SlotId>(node.word));
        if (node.op == Op::element)
            for (Word i = 0; i < node.length; ++i) slots.insert(static_cast<SlotId>(node.word + i));
        for (ExprId argument : node.arguments)
            if (argument != NO_EXPRESSION && seen.insert(argument).second) open.push_back(argument);
    }
    return {slots.begin(), slots.end()};
}

}  // namespace misstep::jani
