#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/types.h"

namespace misstep {

// A variable with a value. Facts are also numbered densely: Task::fact_id.
struct Fact {
    int variable;
    int value;
    friend bool operator==(const Fact &, const Fact &) = default;
    friend auto operator<=>(const Fact &, const Fact &) = default;
};

// The effect holds in the successor if all its conditions hold in the state the operator is applied in.
struct Effect {
    Fact fact;
    std::span<const Fact> conditions;
};

struct Variable {
    std::string name;
    std::vector<std::string> values;
    int axiom_layer = -1;  // -1: not derived
};

struct Axiom {
    std::vector<Fact> body;
    Fact head;
    int previous_value;
};

// A task uses a feature that an algorithm cannot handle.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// An FDR (SAS+) task. Operators lie in flat arrays: preconditions sorted by variable, effects in file order.
class Task {
   public:
    struct RawEffect {
        std::vector<Fact> conditions;
        Fact fact;
    };
    struct RawOperator {
        std::string name;
        std::vector<Fact> preconditions;
        std::vector<RawEffect> effects;
        Cost cost;
    };

    Task(std::vector<Variable> variables, std::vector<std::vector<Fact>> mutex_groups, std::vector<int> initial,
         std::vector<Fact> goal, std::vector<RawOperator> operators, std::vector<Axiom> axioms, bool metric);

    int variable_count() const { return static_cast<int>(variables_.size()); }
    const Variable &variable(int v) const { return variables_[v]; }
    std::span<const int> domain_sizes() const { return domain_sizes_; }
    int fact_count() const { return fact_offsets_.back(); }
    int fact_id(Fact fact) const { return fact_offsets_[fact.variable] + fact.value; }
    std::span<const int> fact_offsets() const { return fact_offsets_; }

    int operator_count() const { return static_cast<int>(costs_.size()); }
    const std::string &operator_name(OperatorId op) const { return names_[op]; }
    Cost cost(OperatorId op) const { return costs_[op]; }
    std::span<const Cost> costs() const { return costs_; }
    std::span<const Fact> preconditions(OperatorId op) const {
        return {preconditions_.data() + precondition_offsets_[op],
                preconditions_.data() + precondition_offsets_[op + 1]};
    }
    int effect_count(OperatorId op) const { return effect_offsets_[op + 1] - effect_offsets_[op]; }
    Effect effect(OperatorId op, int i) const {
        const int e = effect_offsets_[op] + i;
        return {effects_[e],
                {conditions_.data() + condition_offsets_[e], conditions_.data() + condition_offsets_[e + 1]}};
    }
    // The facts that the effects write, without conditions. They describe an operator without conditional effects fully.
    std::span<const Fact> effect_facts(OperatorId op) const {
        return {effects_.data() + effect_offsets_[op], effects_.data() + effect_offsets_[op + 1]};
    }

    std::span<const int> initial() const { return initial_; }
    std::span<const Fact> goal() const { return goal_; }
    const std::vector<std::vector<Fact>> &mutex_groups() const { return mutex_groups_; }
    const std::vector<Axiom> &axioms() const { return axioms_; }
    bool metric() const { return metric_; }
    Cost min_cost() const { return min_cost_; }
    Cost max_cost() const { return max_cost_; }
    bool has_conditional_effects() const { return !conditions_.empty(); }

    bool applicable(OperatorId op, const int *values) const {
        for (const Fact &fact : preconditions(op))
            if (values[fact.variable] != fact.value) return false;
        return true;
    }
    // `to` and `from` may be the same array.
    void apply(OperatorId op, const int *from, int *to) const;
    bool is_goal(const int *values) const {
        for (const Fact &fact : goal_)
            if (values[fact.variable] != fact.value) return false;
        return true;
    }

    // Throws Unsupported with a message that names the algorithm and an operator.
    void refuse_conditional_effects(const char *algorithm) const;
    void refuse_axioms(const char *algorithm) const;

   private:
    std::vector<Variable> variables_;
    std::vector<int> domain_sizes_;
    std::vector<int> fact_offsets_;
    std::vector<std::vector<Fact>> mutex_groups_;
    std::vector<int> initial_;
    std::vector<Fact> goal_;
    std::vector<Axiom> axioms_;
    bool metric_;

    std::vector<std::string> names_;
    std::vector<Cost> costs_;
    std::vector<int> precondition_offsets_;
    std::vector<Fact> preconditions_;
    std::vector<int> effect_offsets_;
    std::vector<Fact> effects_;
    std::vector<int> condition_offsets_;
    std::vector<Fact> conditions_;
    Cost min_cost_ = 0;
    Cost max_cost_ = 0;
};

}  // namespace misstep
