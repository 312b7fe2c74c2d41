#include "fdr/predecessors.h"

#include <algorithm>

namespace misstep {

namespace {

// What must hold after the operator: the last write to each variable, and the untouched preconditions.
std::vector<std::vector<Fact>> all_results(const Task &task) {
    task.refuse_axioms("the predecessor generator");
    task.refuse_conditional_effects("the predecessor generator");
    std::vector<std::vector<Fact>> results;
    for (OperatorId op = 0; op < task.operator_count(); ++op) {
        std::vector<Fact> result;
        const auto put = [&](Fact fact) {
            for (Fact &other : result)
                if (other.variable == fact.variable) {
                    other.value = fact.value;
                    return;
                }
            result.push_back(fact);
        };
        for (const Fact &fact : task.preconditions(op)) put(fact);
        for (const Fact &fact : task.effect_facts(op)) put(fact);
        std::sort(result.begin(), result.end());
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace

PredecessorGenerator::PredecessorGenerator(const Task &task)
    : task_(task), tree_(task.domain_sizes(), all_results(task)), free_variables_(task.operator_count()) {
    for (OperatorId op = 0; op < task.operator_count(); ++op) {
        std::vector<int> &free = free_variables_[op];
        const auto required = task.preconditions(op);
        for (const Fact &fact : task.effect_facts(op)) {
            const bool known = std::any_of(required.begin(), required.end(),
                                           [&](const Fact &other) { return other.variable == fact.variable; });
            if (!known && std::find(free.begin(), free.end(), fact.variable) == free.end())
                free.push_back(fact.variable);
        }
    }
}

void PredecessorGenerator::operators(const int *values, std::vector<OperatorId> &result) const {
    result.clear();
    tree_.match(PlainValues{values}, [&](OperatorId op) { result.push_back(op); });
    std::sort(result.begin(), result.end());
}

void PredecessorGenerator::for_each_predecessor(OperatorId op, const int *values,
                                                const std::function<void(const int *)> &emit) const {
    std::vector<int> state(values, values + task_.variable_count());
    for (const Fact &fact : task_.preconditions(op)) state[fact.variable] = fact.value;
    const std::vector<int> &free = free_variables_[op];
    for (int variable : free) state[variable] = 0;
    while (true) {
        emit(state.data());
        std::size_t i = 0;  // the next combination of values, counted up like an odometer
        while (i < free.size() && ++state[free[i]] == task_.domain_sizes()[free[i]]) state[free[i++]] = 0;
        if (i == free.size()) return;
    }
}

}  // namespace misstep
