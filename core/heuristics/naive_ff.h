#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "heuristics/relaxed_task.h"

namespace misstep::naive {

// Slow but obviously right twins of the heuristics of the delete relaxation, for tests.

inline constexpr std::int64_t UNREACHED = INFINITE_COST;

// Costs straight from the definition on the operators of the task: sweeps over all effects until nothing changes.
inline std::vector<std::int64_t> relaxed_costs(const Task &task, const int *values, bool additive) {
    std::vector<std::int64_t> costs(task.fact_count(), UNREACHED);
    for (int v = 0; v < task.variable_count(); ++v) costs[task.fact_id({v, values[v]})] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (OperatorId op = 0; op < task.operator_count(); ++op)
            for (int i = 0; i < task.effect_count(op); ++i) {
                const Effect effect = task.effect(op, i);
                std::set<Fact> conditions(effect.conditions.begin(), effect.conditions.end());
                conditions.insert(task.preconditions(op).begin(), task.preconditions(op).end());
                std::set<int> variables;
                std::int64_t cost = 0;
                for (const Fact &fact : conditions) {
                    const std::int64_t c = costs[task.fact_id(fact)];
                    if (c == UNREACHED || !variables.insert(fact.variable).second) cost = UNREACHED;
                    if (cost != UNREACHED) cost = additive ? cost + c : std::max(cost, c);
                }
                if (cost == UNREACHED) continue;
                cost = std::min(cost + task.cost(op), MAX_OPERATOR_COST);
                if (cost >= costs[task.fact_id(effect.fact)]) continue;
                costs[task.fact_id(effect.fact)] = cost;
                changed = true;
            }
    }
    return costs;
}

struct RelaxedPlanResult {
    Cost cost = 0;
    std::set<std::int32_t> facts;
    std::set<OperatorId> operators;
    std::set<OperatorId> helpful;
};

// hFF on the relaxed operators: sweeps until costs, then layers do not change, then chooses supporters by
// (cost, layer, id), then follows them from the goal.
class RelaxedPlanFinder {
   public:
    RelaxedPlanFinder(const RelaxedTask &relaxed, const int *values)
        : relaxed_(relaxed), labels_(relaxed.fact_count(), {UNREACHED, 0}) {
        for (int v = 0; v < relaxed.variable_count(); ++v) labels_[relaxed.fact(v, values[v])] = {0, 0};
        // First all costs, then the layers among supporters of least cost: at the cut a cheaper precondition can
        // mean a higher layer, so labels improved together would keep layers that were right only for a while.
        for (bool changed = true; changed;) {
            changed = false;
            for (int op = 0; op < relaxed.operator_count(); ++op)
                for (const std::int32_t fact : relaxed.effects(op)) {
                    const Label label = label_of(op);
                    if (label.first >= labels_[fact].first) continue;
                    labels_[fact] = {label.first, UNKNOWN_LAYER};
                    changed = true;
                }
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (int op = 0; op < relaxed.operator_count(); ++op)
                for (const std::int32_t fact : relaxed.effects(op)) {
                    const Label label = label_of(op);
                    if (label.first != labels_[fact].first || label.second >= labels_[fact].second) continue;
                    labels_[fact] = label;
                    changed = true;
                }
        }
    }

    RelaxedPlanResult plan(const std::vector<std::int32_t> &goal) const {
        RelaxedPlanResult result;
        for (const std::int32_t fact : goal)
            if (labels_[fact].first == UNREACHED) return {INFINITE_COST, {}, {}, {}};
        for (const std::int32_t fact : goal) support(fact, result);
        for (const OperatorId op : result.operators) result.cost += relaxed_.task().cost(op);
        return result;
    }

   private:
    using Label = std::pair<std::int64_t, int>;
    static constexpr int UNKNOWN_LAYER = 1 << 30;

    Label label_of(int op) const {
        Label label{relaxed_.operators()[op].cost, 0};
        for (const std::int32_t fact : relaxed_.preconditions(op)) {
            if (labels_[fact].first == UNREACHED) return {UNREACHED, 0};
            label.first += labels_[fact].first;
            label.second = std::max(label.second, labels_[fact].second);
        }
        return {std::min(label.first, MAX_OPERATOR_COST), std::min(label.second, UNKNOWN_LAYER - 1) + 1};
    }

    void support(std::int32_t fact, RelaxedPlanResult &result) const {
        if (labels_[fact] == Label{0, 0} || !result.facts.insert(fact).second) return;
        std::tuple<Label, int> best{{UNREACHED, 0}, 0};
        for (int op = 0; op < relaxed_.operator_count(); ++op) {
            const auto effects = relaxed_.effects(op);
            if (std::find(effects.begin(), effects.end(), fact) != effects.end())
                best = std::min(best, std::tuple{label_of(op), op});
        }
        const int op = std::get<1>(best);
        const OperatorId parent = relaxed_.operators()[op].parent;
        result.operators.insert(parent);
        const auto preconditions = relaxed_.preconditions(op);
        if (std::all_of(preconditions.begin(), preconditions.end(),
                        [&](std::int32_t p) { return labels_[p] == Label{0, 0}; }))
            result.helpful.insert(parent);
        for (const std::int32_t precondition : preconditions) support(precondition, result);
    }

    const RelaxedTask &relaxed_;
    std::vector<Label> labels_;
};

}  // namespace misstep::naive
