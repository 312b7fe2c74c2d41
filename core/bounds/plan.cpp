#include "bounds/plan.h"

#include <string>

namespace misstep {

namespace {

const std::string &fact_name(const Task &task, Fact fact) { return task.variable(fact.variable).values[fact.value]; }

std::string first_missing(const Task &task, std::span<const Fact> facts, const std::vector<int> &values) {
    for (const Fact &fact : facts)
        if (values[fact.variable] != fact.value)
            return fact_name(task, fact) + " where " + fact_name(task, {fact.variable, values[fact.variable]}) +
                   " holds";
    return "";
}

}  // namespace

Cost cost_of(const Task &task, std::span<const OperatorId> plan) {
    Cost cost = 0;
    for (OperatorId op : plan) cost += task.cost(op);
    return cost;
}

Cost replay(const Task &task, const int *start, std::span<const OperatorId> plan) {
    std::vector<int> values(start, start + task.variable_count());
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const OperatorId op = plan[i];
        const std::string step = "step " + std::to_string(i + 1) + ": operator ";
        if (op < 0 || op >= task.operator_count())
            throw InvalidPlan(step + std::to_string(op) + " does not exist: the task has " +
                              std::to_string(task.operator_count()));
        if (!task.applicable(op, values.data()))
            throw InvalidPlan(step + "(" + task.operator_name(op) + ") does not apply: it requires " +
                              first_missing(task, task.preconditions(op), values));
        task.apply(op, values.data(), values.data());
    }
    if (!task.is_goal(values.data()))
        throw InvalidPlan("the plan ends after step " + std::to_string(plan.size()) +
                          " in a state that is no goal: the goal requires " + first_missing(task, task.goal(), values));
    return cost_of(task, plan);
}

}  // namespace misstep
