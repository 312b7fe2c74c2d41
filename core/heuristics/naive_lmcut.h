#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "fdr/task.h"

namespace misstep::naive {

// Values of all facts and then of the goal (the last entry), by plain iteration to the fixpoint.
inline std::vector<Cost> hmax(const Task &task, const std::vector<Cost> &costs, std::span<const Fact> goal,
                              const int *values) {
    std::vector<Cost> result(task.fact_count() + 1, INFINITE_COST);
    for (int v = 0; v < task.variable_count(); ++v) result[task.fact_id({v, values[v]})] = 0;
    const auto highest = [&](std::span<const Fact> facts) {
        Cost value = 0;
        for (const Fact &fact : facts) value = std::max(value, result[task.fact_id(fact)]);
        return value;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (OperatorId op = 0; op < task.operator_count(); ++op) {
            const Cost value = highest(task.preconditions(op));
            if (value == INFINITE_COST) continue;
            for (const Fact &fact : task.effect_facts(op)) {
                Cost &effect = result[task.fact_id(fact)];
                if (value + costs[op] < effect) {
                    effect = value + costs[op];
                    changed = true;
                }
            }
        }
    }
    result.back() = highest(goal);
    return result;
}

// Whether the goal stays out of reach, even without deletes, if the operators may not be used. That makes
// them a disjunctive landmark.
inline bool is_landmark(const Task &task, std::span<const OperatorId> operators, std::span<const Fact> goal,
                        const int *values) {
    std::vector<Cost> costs(task.operator_count(), 0);
    for (OperatorId op : operators) costs[op] = 1;
    return hmax(task, costs, goal, values).back() > 0;
}

struct Cut {
    std::vector<OperatorId> operators;
    Cost charged;
};

// LM-cut with everything recomputed for every cut, and the justification graph written out. The supporter is the
// first of the most expensive preconditions, so that values may differ from those of LMCut, which
// breaks ties differently. Returns no cuts if the goal is unreachable: see hmax.
inline std::vector<Cut> lmcut(const Task &task, std::span<const Fact> goal, const int *values) {
    struct Edge {
        int from, to;
        OperatorId op;
    };
    const int goal_node = task.fact_count();
    const int start_node = goal_node + 1;  // leads to the state and to operators without preconditions
    std::vector<Cost> costs(task.costs().begin(), task.costs().end());
    std::vector<Cut> result;
    while (true) {
        const std::vector<Cost> value = hmax(task, costs, goal, values);
        if (value[goal_node] == 0 || value[goal_node] == INFINITE_COST) return result;
        const auto supporter = [&](std::span<const Fact> facts) {
            int best = start_node;
            for (const Fact &fact : facts)
                if (best == start_node || value[task.fact_id(fact)] > value[best]) best = task.fact_id(fact);
            return best;
        };
        std::vector<Edge> edges{{supporter(goal), goal_node, NO_OPERATOR}};
        for (int v = 0; v < task.variable_count(); ++v)
            edges.push_back({start_node, task.fact_id({v, values[v]}), NO_OPERATOR});
        for (OperatorId op = 0; op < task.operator_count(); ++op)
            for (const Fact &fact : task.effect_facts(op))
                edges.push_back({supporter(task.preconditions(op)), task.fact_id(fact), op});

        const auto cost = [&](const Edge &edge) { return edge.op == NO_OPERATOR ? 0 : costs[edge.op]; };
        std::vector<char> in_zone(start_node + 1, false), before(start_node + 1, false);
        in_zone[goal_node] = true;
        before[start_node] = true;
        for (bool changed = true; changed;) {
            changed = false;
            for (const Edge &edge : edges)
                if (in_zone[edge.to] && !in_zone[edge.from] && cost(edge) == 0) in_zone[edge.from] = changed = true;
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (const Edge &edge : edges)
                if (before[edge.from] && !before[edge.to] && !in_zone[edge.to]) before[edge.to] = changed = true;
        }
        std::set<OperatorId> cut;
        for (const Edge &edge : edges)
            if (before[edge.from] && in_zone[edge.to]) cut.insert(edge.op);
        Cost charged = INFINITE_COST;
        for (OperatorId op : cut) charged = std::min(charged, costs[op]);
        for (OperatorId op : cut) costs[op] -= charged;
        result.push_back({{cut.begin(), cut.end()}, charged});
    }
}

}  // namespace misstep::naive
