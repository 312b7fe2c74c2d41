#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"
#include "check.h"
#include "jani/distance.h"
#include "jani/expression.h"
#include "jani/layout.h"
#include "jani/operators.h"
#include "jani/program.h"

using namespace misstep;
using namespace misstep::jani;

namespace {

constexpr Word LOWEST = std::numeric_limits<Word>::min(), HIGHEST = std::numeric_limits<Word>::max();

Slot integer_slot(const char *name, Word low, Word high) {
    Slot slot{Type::integer, false, true, {}, name};
    slot.range.low = low;
    slot.range.high = high;
    return slot;
}
Slot real_slot(const char *name) { return {Type::real, false, false, {}, name}; }

void test_operators() {
    using namespace operators;
    CHECK_EQUAL(add(HIGHEST, -1), HIGHEST - 1);
    CHECK_THROWS(add(HIGHEST, 1), Fault);
    CHECK_THROWS(subtract(LOWEST, 1), Fault);
    CHECK_THROWS(multiply(HIGHEST, 2), Fault);
    CHECK_THROWS(absolute(LOWEST), Fault);
    CHECK_EQUAL(absolute(LOWEST + 1), HIGHEST);
    CHECK_EQUAL(modulo(-7, 3), 2);
    CHECK_EQUAL(modulo(LOWEST, HIGHEST), HIGHEST - 1);
    CHECK_THROWS(modulo(7, 0), Fault);
    CHECK_THROWS(modulo(7, -3), Fault);
    CHECK_EQUAL(to_integer(-0x1p63), LOWEST);
    CHECK_THROWS(to_integer(0x1p63), Fault);
    CHECK_THROWS(to_integer(std::nan("")), Fault);
    CHECK_THROWS(divide(1, 0), Fault);
    CHECK_THROWS(divide(1e300, 1e-300), Fault);
    CHECK_THROWS(logarithm(8, 1), Fault);
    CHECK_THROWS(logarithm(-1, 2), Fault);
    CHECK_EQUAL(sign(LOWEST), -1);
    CHECK_EQUAL(sign_of_real(-0.0), 0);
    CHECK_EQUAL(stored_real(-0.0), from_real(0.0));
    CHECK(from_real(-0.0) != from_real(0.0));
}

void test_expressions() {
    Expressions e;
    const ExprId x = e.variable(e.declare(integer_slot("x", 0, 10)));
    const ExprId two = e.constant(Type::integer, 2), zero = e.constant(Type::integer, 0);
    CHECK_EQUAL(e.apply(Op::add, {x, two}), e.apply(Op::add, {x, two}));  // each distinct one once
    CHECK(e.is_constant(e.apply(Op::multiply, {two, two}), Type::integer, 4));
    CHECK_EQUAL(e.range(e.apply(Op::add, {x, two})).high, 12);
    CHECK(e[e.apply(Op::modulo, {x, two})].total);
    CHECK(!e[e.apply(Op::modulo, {two, x})].total);  // x may be 0
    CHECK(!e[e.apply(Op::divide, {two, x})].total);
    CHECK(e[e.apply(Op::divide, {x, two})].type == Type::real);
    // An expression without a result is not folded, and fails when it is run.
    CHECK(!e.is_constant(e.apply(Op::modulo, {two, zero})));
    CHECK_THROWS(e.apply(Op::conjunction, {x, x}), ModelError);
    CHECK_THROWS(e.convert(e.boolean(true), Type::integer), ModelError);
    const ExprId condition = e.apply(Op::conjunction, {e.apply(Op::less, {x, two}), e.apply(Op::not_equal, {x, zero})});
    CHECK_EQUAL(e.conjuncts(condition).size(), 2U);
    CHECK_EQUAL(e.support(condition).size(), 1U);
}

// Programs compute the same as the operators, and results are always within the range that was computed for the expression.
void test_programs() {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CounterRandom random(seed);
        Expressions e;
        std::vector<ExprId> integers, booleans{e.boolean(true)};
        const SlotId slots = 3;
        for (SlotId s = 0; s < slots; ++s) integers.push_back(e.variable(e.declare(integer_slot("x", -3, 5))));
        for (Word constant : {-1, 2, 7}) integers.push_back(e.constant(Type::integer, constant));
        const auto any = [&](const std::vector<ExprId> &from) { return from[random.below(from.size())]; };
        constexpr Op ARITHMETIC[] = {Op::add, Op::subtract, Op::multiply, Op::minimum, Op::maximum, Op::modulo};
        constexpr Op COMPARISONS[] = {Op::less,      Op::less_equal, Op::equal,
                                      Op::not_equal, Op::greater,    Op::greater_equal};
        constexpr Op LOGIC[] = {Op::conjunction, Op::disjunction, Op::implication};
        for (int i = 0; i < 30; ++i) {
            integers.push_back(e.apply(ARITHMETIC[random.below(6)], {any(integers), any(integers)}));
            booleans.push_back(e.apply(COMPARISONS[random.below(6)], {any(integers), any(integers)}));
            booleans.push_back(e.apply(LOGIC[random.below(3)], {any(booleans), any(booleans)}));
            integers.push_back(e.apply(Op::ite, {any(booleans), any(integers), any(integers)}));
        }
        // Evaluates the nodes directly; there is no value where an operation has none.
        const std::function<Word(ExprId, const Word *)> value = [&](ExprId id, const Word *state) -> Word {
            const Expressions::Node &node = e[id];
            if (node.op == Op::constant) return node.word;
            if (node.op == Op::variable) return state[node.word];
            const Word first = value(node.arguments[0], state);
            if (node.op == Op::conjunction && first == 0) return 0;
            if (node.op == Op::disjunction && first != 0) return 1;
            if (node.op == Op::ite) return value(node.arguments[first ? 1 : 2], state);
            const Word second = node.arguments[1] == NO_EXPRESSION ? 0 : value(node.arguments[1], state);
            return compute(node.op, e[node.arguments[0]].type, first, second, 0);
        };
        Programs programs(e);
        std::vector<Program> compiled;
        std::vector<ExprId> all = integers;
        all.insert(all.end(), booleans.begin(), booleans.end());
        for (ExprId id : all) compiled.push_back(programs.value(id));
        std::vector<Condition> conditions;
        for (ExprId id : booleans) conditions.push_back(programs.condition(e.conjuncts(id)));
        std::vector<Word> registers = programs.registers();
        for (int i = 0; i < 20; ++i) {
            Word state[slots];
            for (SlotId s = 0; s < slots; ++s) registers[s] = state[s] = static_cast<Word>(random.below(9)) - 3;
            for (std::size_t k = 0; k < all.size(); ++k) {
                try {
                    const Word expected = value(all[k], state);
                    CHECK_EQUAL(programs.run(compiled[k], registers.data()), expected);
                    const Range &range = e.range(all[k]);
                    CHECK(range.low <= expected && expected <= range.high);
                    if (k >= integers.size())
                        CHECK(programs.holds(conditions[k - integers.size()], registers.data()) == (expected != 0));
                } catch (const Fault &) {
                    CHECK(!e[all[k]].total);
                    CHECK_THROWS(programs.run(compiled[k], registers.data()), Fault);
                }
            }
        }
    }
}

void test_layout(const std::vector<Slot> &slots, int words) {
    const Layout layout(slots);
    CHECK_EQUAL(layout.words(), words);
    std::vector<std::uint64_t> state(static_cast<std::size_t>(words));
    std::vector<Word> low, high, read(slots.size());
    for (const Slot &slot : slots) {
        low.push_back(slot.type == Type::real ? from_real(-1.5) : slot.range.low);
        high.push_back(slot.type == Type::real ? from_real(1e300) : slot.range.high);
    }
    for (const auto &[base, other] : {std::pair{low, high}, std::pair{high, low}}) {
        layout.pack(base.data(), state.data());
        for (SlotId slot = 0; slot < slots.size(); ++slot) {
            layout.set(state.data(), slot, other[slot]);
            CHECK_EQUAL(layout.get(state.data(), slot), other[slot]);
            layout.unpack(state.data(), read.data());
            read[slot] = base[slot];
            CHECK(read == base);  // the others are as they were
            layout.set(state.data(), slot, base[slot]);
        }
    }
}

void test_layouts() {
    test_layout({}, 1);
    test_layout({integer_slot("one value", 7, 7)}, 1);
    test_layout({integer_slot("all", LOWEST, HIGHEST)}, 1);
    test_layout({integer_slot("all", LOWEST, HIGHEST), integer_slot("one value", -2, -2), integer_slot("bit", 0, 1)},
                2);
    test_layout({integer_slot("63 bits", 0, HIGHEST), integer_slot("bit", -1, 0)}, 1);
    test_layout({integer_slot("63 bits", LOWEST, -1), integer_slot("two bits", -2, 1)}, 2);
    test_layout({integer_slot("wide", LOWEST, 0), real_slot("real"), integer_slot("bit", 0, 1)}, 3);
}

double distance_of(Expressions &e, ExprId condition, std::vector<Word> state) {
    Programs programs(e);
    const Distance distance(e, programs, condition);
    std::vector<Word> registers = programs.registers();
    std::copy(state.begin(), state.end(), registers.begin());
    std::vector<double> scratch;
    return distance(programs, registers.data(), scratch);
}

void test_distance() {
    Expressions e;
    const ExprId x = e.variable(e.declare(integer_slot("x", -100, 100))),
                 y = e.variable(e.declare(integer_slot("y", -100, 100)));
    const auto number = [&](Word value) { return e.constant(Type::integer, value); };
    const ExprId at_most = e.apply(Op::less_equal, {x, number(3)}), less = e.apply(Op::less, {y, number(0)});
    CHECK_EQUAL(distance_of(e, at_most, {3, 0}), 0.0);
    CHECK_EQUAL(distance_of(e, at_most, {10, 0}), 7.0);
    CHECK_EQUAL(distance_of(e, less, {0, 0}), 1.0);
    CHECK_EQUAL(distance_of(e, less, {0, 5}), 6.0);
    CHECK_EQUAL(distance_of(e, e.apply(Op::conjunction, {at_most, less}), {10, 5}), 13.0);
    CHECK_EQUAL(distance_of(e, e.apply(Op::disjunction, {at_most, less}), {10, 5}), 6.0);
    CHECK_EQUAL(distance_of(e, e.apply(Op::negation, {at_most}), {1, 0}), 3.0);  // to 4
    CHECK_EQUAL(distance_of(e, e.apply(Op::equal, {x, y}), {4, -4}), 8.0);
    CHECK_EQUAL(distance_of(e, e.apply(Op::not_equal, {x, y}), {4, 4}), 1.0);
    CHECK_EQUAL(distance_of(e, e.apply(Op::equal, {e.apply(Op::modulo, {number(5), x}), number(0)}), {0, 0}),
                1.0);  // no result
}

}  // namespace

int main() {
    test_operators();
    test_expressions();
    test_programs();
    test_layouts();
    test_distance();
    return misstep::test::result();
}
