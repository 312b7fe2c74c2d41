#pragma once

#include <map>
#include <vector>

#include "jani/expression.h"
#include "jani/program.h"

namespace misstep::jani {

// The distance h of a state to a condition: 0 exactly where the condition holds, and otherwise a measure of how much its
// comparisons are violated.
//
// The condition is brought into negation normal form. A comparison e <= 0 costs max(0, e), an equation e = 0 costs |e|. A
// strict comparison that does not hold costs epsilon more, and an inequality e != 0 that does not hold costs epsilon (1
// for integers, 1e-5 for reals). The costs of a conjunction are added, and a disjunction costs its minimum. If e is not
// linear, the number has no geometric meaning, but it is still zero if and only if the comparison holds. Other conditions
// (such as a cell of an array of Booleans) cost 0 or 1. A comparison without a result costs 1. It is no error here, because
// every comparison is evaluated, also those that the condition itself would skip.
class Distance {
   public:
    enum class Scale { none, l1 };  // l1: each atom divided by its largest weight: the L1 distance to its half-space

    Distance(const Expressions &expressions, Programs &programs, ExprId condition, Scale scale = Scale::none);

    double operator()(const Programs &programs, Word *registers, std::vector<double> &scratch) const;

    int nonlinear_atoms() const { return nonlinear_; }
    int opaque_atoms() const { return opaque_; }

   private:
    enum class Kind : std::uint8_t { constant, less_equal, less, equal, not_equal, truth, falsity, sum, least };
    struct Node {
        Kind kind;
        bool integer = false;
        double number = 1;  // the constant, or the factor of an atom
        Program left{}, right{};
        std::vector<std::uint32_t> children{};
    };

    std::uint32_t normalise(const Expressions &expressions, Programs &programs, ExprId e, bool positive, Scale scale);
    std::uint32_t atom(const Expressions &expressions, Programs &programs, ExprId e, bool positive, Scale scale);
    std::uint32_t combine(Kind kind, std::uint32_t a, std::uint32_t b);
    std::uint32_t constant(bool holds);
    std::uint32_t add(Node node);
    double atom_value(const Node &node, const Programs &programs, Word *registers) const;

    std::vector<Node> nodes_;  // children before parents
    std::map<std::pair<ExprId, bool>, std::uint32_t> done_;
    int nonlinear_ = 0;
    int opaque_ = 0;
};

}  // namespace misstep::jani
