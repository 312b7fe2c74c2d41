#include "fdr/task.h"

#include <algorithm>

namespace misstep {

Task::Task(std::vector<Variable> variables, std::vector<std::vector<Fact>> mutex_groups, std::vector<int> initial,
           std::vector<Fact> goal, std::vector<RawOperator> operators, std::vector<Axiom> axioms, bool metric)
    : variables_(std::move(variables)),
      mutex_groups_(std::move(mutex_groups)),
      initial_(std::move(initial)),
      goal_(std::move(goal)),
      axioms_(std::move(axioms)),
      metric_(metric) {
    fact_offsets_.push_back(0);
    for (const Variable &variable : variables_) {
        domain_sizes_.push_back(static_cast<int>(variable.values.size()));
        fact_offsets_.push_back(fact_offsets_.back() + domain_sizes_.back());
    }
    precondition_offsets_.push_back(0);
    effect_offsets_.push_back(0);
    condition_offsets_.push_back(0);
    for (RawOperator &op : operators) {
        names_.push_back(std::move(op.name));
        costs_.push_back(op.cost);
        std::sort(op.preconditions.begin(), op.preconditions.end());
        op.preconditions.erase(std::unique(op.preconditions.begin(), op.preconditions.end()), op.preconditions.end());
        preconditions_.insert(preconditions_.end(), op.preconditions.begin(), op.preconditions.end());
        precondition_offsets_.push_back(static_cast<int>(preconditions_.size()));
        for (const RawEffect &effect : op.effects) {
            effects_.push_back(effect.fact);
            conditions_.insert(conditions_.end(), effect.conditions.begin(), effect.conditions.end());
            condition_offsets_.push_back(static_cast<int>(conditions_.size()));
        }
        effect_offsets_.push_back(static_cast<int>(effects_.size()));
    }
    if (!costs_.empty()) {
        const auto [least, most] = std::minmax_element(costs_.begin(), costs_.end());
        min_cost_ = *least;
        max_cost_ = *most;
    }
}

void Task::apply(OperatorId op, const int *from, int *to) const {
    if (!has_conditional_effects()) {
        if (to != from) std::copy_n(from, variables_.size(), to);
        for (const Fact &fact : effect_facts(op)) to[fact.variable] = fact.value;
        return;
    }
    // Conditions are read in the old state, so it must survive until the last effect is decided.
    const std::vector<int> old(from, from + variables_.size());
    if (to != from) std::copy(old.begin(), old.end(), to);
    for (int i = 0; i < effect_count(op); ++i) {
        const Effect effect = this->effect(op, i);
        const bool fires = std::all_of(effect.conditions.begin(), effect.conditions.end(),
                                       [&](const Fact &fact) { return old[fact.variable] == fact.value; });
        if (fires) to[effect.fact.variable] = effect.fact.value;
    }
}

void Task::refuse_conditional_effects(const char *algorithm) const {
    if (!has_conditional_effects()) return;
    for (OperatorId op = 0; op < operator_count(); ++op)
        for (int i = 0; i < effect_count(op); ++i)
            if (!effect(op, i).conditions.empty())
                throw Unsupported(std::string(algorithm) + " does not support conditional effects, and operator (" +
                                  names_[op] + ") has one");
}

void Task::refuse_axioms(const char *algorithm) const {
    if (axioms_.empty()) return;
    throw Unsupported(std::string(algorithm) + " does not support axioms (derived predicates), and the task has " +
                      std::to_string(axioms_.size()));
}

}  // namespace misstep
