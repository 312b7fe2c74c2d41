#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "jani/expression.h"

namespace misstep::jani {

using Register = std::uint32_t;

// clang-format off
enum class Code : std::uint16_t {
    add_i, subtract_i, multiply_i, modulo_i, minimum_i, maximum_i, absolute_i, sign_i, equal_i, not_equal_i, less_i, less_equal_i,
    add_r, subtract_r, multiply_r, divide_r, minimum_r, maximum_r, absolute_r, sign_r, power_r, logarithm_r, sine_r, cosine_r,
    floor_r, ceil_r, truncate_r, equal_r, not_equal_r, less_r, less_equal_r,
    to_real, negate, move, element, within, jump, jump_if_false, jump_if_true,
    require, require_equal_i, require_not_equal_i, require_less_i, require_less_equal_i,
    require_equal_r, require_not_equal_r, require_less_r, require_less_equal_r,
    halt
};
// clang-format on

struct Instruction {
    Code code;
    Register target, a, b;
};

// A value: the register that holds it after the code at `begin`, if there is any, has run.
struct Program {
    static constexpr std::uint32_t NO_CODE = ~std::uint32_t{0};
    std::uint32_t begin = NO_CODE;
    Register result = 0;
};

// A condition: it holds if the code at `begin` runs to its end. Without code it always holds.
struct Condition {
    std::uint32_t begin = Program::NO_CODE;
    bool never = false;
};

// The code of all programs of a model, for one register machine.
//
// The registers are one array: first the slots (the values of the state), then constants and temporaries. Every operand is
// therefore an index, and `pos + vel < 7` is two instructions without any loads. Conditions are compiled conjunct by
// conjunct into instructions that stop at the first one that fails.
class Programs {
   public:
    explicit Programs(const Expressions &expressions);

    Program value(ExprId e);
    Condition condition(const std::vector<ExprId> &conjuncts);

    // A fresh machine: constants in place, slots zero.
    const std::vector<Word> &registers() const { return registers_; }

    Word run(const Program &program, Word *registers) const {
        if (program.begin != Program::NO_CODE) execute(program.begin, registers);
        return registers[program.result];
    }
    bool holds(const Condition &condition, Word *registers) const {
        if (condition.never) return false;
        return condition.begin == Program::NO_CODE || execute(condition.begin, registers);
    }

   private:
    bool execute(std::uint32_t begin, Word *registers) const;  // false if a requirement fails; throws Fault
    Register compile(ExprId e, std::size_t depth);
    void compile_to(ExprId e, Register target, std::size_t depth);
    void require(ExprId e);
    Register temporary(std::size_t depth);
    void emit(Code code, Register target, Register a = 0, Register b = 0);
    std::uint32_t here() const { return static_cast<std::uint32_t>(code_.size()); }

    const Expressions &expressions_;
    std::vector<Instruction> code_;
    std::vector<Word> registers_;
    std::vector<Register> temporaries_;
    std::unordered_map<Word, Register> constants_;
};

}  // namespace misstep::jani
