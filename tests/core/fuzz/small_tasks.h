#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "../cpp/tasks.h"
#include "bytes.h"
#include "fdr/naive.h"

// Tasks that are small enough to compare all pairs of their states.
namespace misstep::test {

inline std::vector<int> draw_sizes(Bytes &bytes) {
    std::vector<int> sizes;
    for (int v = bytes.below(4), room = 64; v >= 0; --v) {
        sizes.push_back(1 + bytes.below(std::min(room, 4)));
        room /= sizes.back();
    }
    return sizes;
}

inline std::vector<Fact> draw_facts(Bytes &bytes, const std::vector<int> &sizes) {
    std::vector<Fact> facts;
    for (int v = 0; v < static_cast<int>(sizes.size()); ++v)
        if (const int value = bytes.below(2 * sizes[v]); value < sizes[v]) facts.push_back({v, value});
    return facts;
}

inline Task draw_task(Bytes &bytes, const std::vector<int> &sizes) {
    const bool conditional = bytes.below(4) == 0;
    std::vector<int> initial;
    for (const int size : sizes) initial.push_back(bytes.below(size));
    std::vector<Fact> goal = draw_facts(bytes, sizes);
    std::vector<Task::RawOperator> operators;
    while (!bytes.empty() && operators.size() < 12) {
        Task::RawOperator op{"", draw_facts(bytes, sizes), {}, bytes.below(4)};
        if (bytes.rarely()) op.cost = MAX_OPERATOR_COST;
        for (const Fact &fact : draw_facts(bytes, sizes)) {
            op.effects.push_back({{}, fact});
            if (conditional && bytes.below(2)) op.effects.back().conditions = draw_facts(bytes, sizes);
        }
        operators.push_back(std::move(op));
    }
    return make_task(sizes, std::move(initial), std::move(goal), std::move(operators));
}

// All states of a task by number, with their successors.
struct Transitions {
    explicit Transitions(const Task &task) {
        const AllStates all(task);
        for (int i = 0; i < all.count(); ++i) {
            numbers[all.state(i)] = states.size();
            states.push_back(all.state(i));
            distances.push_back(all.distance(states.back()));
        }
        for (const std::vector<int> &state : states) {
            successors.emplace_back();
            for (const OperatorId op : naive::applicable(task, state.data())) {
                std::vector<int> next(state.size());
                task.apply(op, state.data(), next.data());
                successors.back().emplace_back(op, numbers.at(next));
            }
        }
    }
    std::size_t size() const { return states.size(); }
    // size(): the operator does not apply.
    std::size_t step(std::size_t s, OperatorId op) const {
        for (const auto &[other, t] : successors[s])
            if (other == op) return t;
        return size();
    }
    // A fuzzer of a task without choices has little to compare.
    bool has_choices() const {
        return std::count_if(successors.begin(), successors.end(), [](const auto &list) { return list.size() > 1; }) >
               1;
    }

    std::vector<std::vector<int>> states;
    std::vector<Cost> distances;
    std::map<std::vector<int>, std::size_t> numbers;
    std::vector<std::vector<std::pair<OperatorId, std::size_t>>> successors;
};

}  // namespace misstep::test
