#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fdr/task.h"

// Small tasks, and their goal distances by plain iteration over all states.
namespace misstep::test {

inline std::vector<Variable> variables_of(const std::vector<int> &domain_sizes) {
    std::vector<Variable> variables;
    for (int size : domain_sizes) {
        Variable &variable = variables.emplace_back();
        variable.name = "v" + std::to_string(variables.size() - 1);
        for (int value = 0; value < size; ++value) variable.values.push_back(std::to_string(value));
    }
    return variables;
}

inline Task make_task(const std::vector<int> &domain_sizes, std::vector<int> initial, std::vector<Fact> goal,
                      std::vector<Task::RawOperator> operators) {
    return Task(variables_of(domain_sizes), {}, std::move(initial), std::move(goal), std::move(operators), {}, true);
}

// An operator from one value of a variable to another.
inline Task::RawOperator step(int variable, int from, int to, Cost cost = 1) {
    return {"step", {{variable, from}}, {{{}, {variable, to}}}, cost};
}

inline std::vector<Fact> random_facts(const std::vector<int> &domain_sizes, int per_mille, CounterRandom &random) {
    std::vector<Fact> facts;
    for (int v = 0; v < static_cast<int>(domain_sizes.size()); ++v)
        if (random.below(1000) < static_cast<std::uint64_t>(per_mille))
            facts.push_back({v, static_cast<int>(random.below(static_cast<std::uint64_t>(domain_sizes[v])))});
    return facts;
}

inline std::vector<int> random_state(const std::vector<int> &domain_sizes, CounterRandom &random) {
    std::vector<int> state;
    for (int size : domain_sizes) state.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(size))));
    return state;
}

// A random task with costs from 0 to 3, and optionally with conditional effects.
inline Task random_task(const std::vector<int> &domain_sizes, int operators, std::uint64_t seed,
                        bool conditional = false) {
    CounterRandom random(seed);
    std::vector<Task::RawOperator> list;
    while (static_cast<int>(list.size()) < operators) {
        Task::RawOperator op{"op" + std::to_string(list.size()),
                             random_facts(domain_sizes, 400, random),
                             {},
                             static_cast<Cost>(random.below(4))};
        for (const Fact &fact : random_facts(domain_sizes, 400, random)) {
            std::vector<Fact> conditions;
            if (conditional && random.below(2)) conditions = random_facts(domain_sizes, 300, random);
            op.effects.push_back({conditions, fact});
        }
        if (!op.effects.empty()) list.push_back(std::move(op));
    }
    std::vector<Fact> goal = random_facts(domain_sizes, 500, random);
    if (goal.empty()) goal.push_back({0, 0});
    return make_task(domain_sizes, random_state(domain_sizes, random), std::move(goal), std::move(list));
}

// All states of a task, reachable or not, numbered by counting through the values.
class AllStates {
   public:
    explicit AllStates(const Task &task) : task_(task) {
        for (int size : task.domain_sizes()) count_ *= size;
        distances_.assign(static_cast<std::size_t>(count_), INFINITE_COST);
        for (bool changed = true; changed;) {
            changed = false;
            for (int i = 0; i < count_; ++i) changed = improve(i) || changed;
        }
    }

    int count() const { return count_; }
    std::vector<int> state(int number) const {
        std::vector<int> values;
        for (int size : task_.domain_sizes()) {
            values.push_back(number % size);
            number /= size;
        }
        return values;
    }
    // h*, INFINITE_COST if the goal cannot be reached.
    Cost distance(const std::vector<int> &values) const { return distances_[static_cast<std::size_t>(number(values))]; }

   private:
    int number(const std::vector<int> &values) const {
        int result = 0;
        for (std::size_t v = values.size(); v-- > 0;) result = result * task_.domain_sizes()[v] + values[v];
        return result;
    }
    bool improve(int i) {
        const std::vector<int> values = state(i);
        Cost best = task_.is_goal(values.data()) ? 0 : INFINITE_COST;
        std::vector<int> successor(values.size());
        for (OperatorId op = 0; op < task_.operator_count(); ++op) {
            if (!task_.applicable(op, values.data())) continue;
            task_.apply(op, values.data(), successor.data());
            best = std::min(best, task_.cost(op) + distance(successor));
        }
        Cost &known = distances_[static_cast<std::size_t>(i)];
        return std::exchange(known, std::min(known, best)) != known;
    }

    const Task &task_;
    int count_ = 1;
    std::vector<Cost> distances_;
};

}  // namespace misstep::test
