// Expressions of JANI models, built by a small stack machine, compiled and run: the result is within the range that
// was computed for it, a total expression has one, and a guard holds exactly where its value is true.
#include <cstdlib>
#include <optional>

#include "bytes.h"
#include "jani/operators.h"
#include "jani/program.h"

namespace {

using namespace misstep;
using namespace misstep::jani;

constexpr int OPS = static_cast<int>(Op::implication) + 1;

Word constant(test::Bytes &bytes, Type type) {
    if (type == Type::boolean) return bytes.below(2);
    if (type == Type::integer) return bytes.below(3) ? bytes.take<std::int8_t>() : bytes.take<Word>();
    const double value = bytes.below(3) ? bytes.take<std::int8_t>() / 4.0 : bytes.take<double>();
    return stored_real(value - value == 0 ? value : 1.0);
}

void push(Expressions &expressions, std::vector<ExprId> &stack, test::Bytes &bytes) {
    const int choice = bytes.below(OPS + 8);
    const auto top = [&] {
        if (stack.empty()) return expressions.variable(static_cast<SlotId>(bytes.below(6)));
        const ExprId e = stack.back();
        stack.pop_back();
        return e;
    };
    if (choice >= OPS + 4) {
        stack.push_back(expressions.variable(static_cast<SlotId>(bytes.below(6))));
    } else if (choice >= OPS) {
        const Type type = static_cast<Type>(bytes.below(3));
        stack.push_back(expressions.constant(type, constant(bytes, type)));
    } else {
        const Op op = static_cast<Op>(choice);
        if (op == Op::constant || op == Op::variable || op == Op::to_real) return;
        if (op == Op::element) return stack.push_back(expressions.element(3, 3, top()));
        if (op == Op::within) return stack.push_back(expressions.within(top(), 1 + bytes.below(9)));
        Op parsed;
        int arity = 0;
        if (!parse_op(symbol(op), parsed, arity)) return;
        std::vector<ExprId> arguments;
        for (int i = 0; i < arity; ++i) arguments.insert(arguments.begin(), top());
        stack.push_back(expressions.apply(parsed, arguments));
    }
}

// Null where the expression has no value.
std::optional<Word> value_of(const Programs &programs, const Program &program, std::vector<Word> registers) {
    try {
        return programs.run(program, registers.data());
    } catch (const Fault &) {
        return std::nullopt;
    }
}

std::optional<Word> guard_of(const Programs &programs, const Condition &condition, std::vector<Word> registers) {
    try {
        return programs.holds(condition, registers.data());
    } catch (const Fault &) {
        return std::nullopt;
    }
}

void run(const Expressions &expressions, ExprId e, test::Bytes &bytes) {
    const bool boolean = expressions[e].type == Type::boolean;
    Programs programs(expressions);
    const Program program = programs.value(e);
    const Condition condition = boolean ? programs.condition(expressions.conjuncts(e)) : Condition{};
    std::vector<Word> registers = programs.registers();
    for (std::size_t slot = 0; slot < expressions.slots().size(); ++slot) {
        const Slot &own = expressions.slots()[slot];
        Word value = constant(bytes, own.type);
        registers[slot] = own.contains(value) ? value : own.type == Type::real ? stored_real(0.0) : 0;
    }
    const std::optional<Word> result = value_of(programs, program, registers);
    if (boolean && guard_of(programs, condition, registers) != result) std::abort();
    if (!result) {
        if (expressions[e].total) std::abort();
        return;
    }
    const Range &range = expressions.range(e);
    if (expressions[e].type == Type::real) {
        if (!(as_real(*result) >= range.real_low && as_real(*result) <= range.real_high)) std::abort();
    } else if (*result < range.low || *result > range.high) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    Expressions expressions;
    Range small;
    small.low = -3;
    small.high = 9;
    small.real_low = -2.5;
    small.real_high = 7.25;
    Range truth;
    truth.low = 0;
    truth.high = 1;
    expressions.declare({Type::boolean, false, true, truth, "b"});
    expressions.declare({Type::integer, false, false, {}, "i"});
    expressions.declare({Type::real, false, true, small, "r"});
    for (const char *name : {"a0", "a1", "a2"}) expressions.declare({Type::integer, false, true, small, name});
    std::vector<ExprId> stack;
    for (int steps = 0; steps < 60 && !bytes.empty(); ++steps) {
        try {
            push(expressions, stack, bytes);
        } catch (const ModelError &) {  // types that do not fit, or a constant without a value: its parts are dropped
        }
    }
    if (!stack.empty()) ++test::accepted;
    for (int tries = 0; tries < 3 && !stack.empty(); ++tries) run(expressions, stack.back(), bytes);
    return 0;
}
