#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "dominance/simulation.h"

namespace misstep::dominance::naive {

// The inequalities of quantitative simulation, evaluated literally: for every pair of states, every challenge, every path of
// internal moves and every answer, until nothing changes. It is slow but obviously right, and `simulate` is tested against it.
// The two share nothing but the factors. It has no budgets.
class Reference {
   public:
    Reference(const Factoring &factoring, const SimulationOptions &options)
        : factors_(factoring.factors), costs_(factoring.costs), options_(options) {
        for (const Factor &factor : factors_) {
            steps_.emplace_back(factor.size);
            for (const LabelledTransitions &entry : factor.labels)
                for (const Transition &t : entry.transitions) steps_.back()[t.from].push_back({entry.label, t.to});
        }
        own_tau();
        for (bool again = true; again;) {
            close_tau();
            descend();
            again = options_.noop_tau && noop_tau();
        }
    }
    std::vector<std::vector<Cost>> d;    // by factor: size * size, dominated * size + dominating
    std::vector<std::vector<Cost>> tau;  // by factor: size * size, from * size + to
    int rounds = 0;                      // over all factors, until no label dominance decreases any more

    // The value to the other factors if factor i answers label l by label r; -1 is doing nothing.
    Cost weight(int i, int l, int r) const {
        return weights_[(static_cast<std::size_t>(i) * labels() + l) * (labels() + 1) + r + 1];
    }
    int labels() const { return static_cast<int>(costs_.size()); }

   private:
    static Cost sum(Cost a, Cost b) { return a <= MINUS_INFINITY || b <= MINUS_INFINITY ? MINUS_INFINITY : a + b; }
    int count() const { return static_cast<int>(factors_.size()); }
    Cost &at(std::vector<std::vector<Cost>> &tables, int i, int x, int y) const {
        return tables[i][x * factors_[i].size + y];
    }
    bool relevant(int i, int label) const { return factors_[i].find(label) != nullptr; }
    bool moves(int i, int label) const {  // not a loop at each state
        if (!relevant(i, label)) return false;
        int loops = 0;
        for (const Transition &t : *factors_[i].find(label)) loops += t.from == t.to;
        return loops < factors_[i].size;
    }
    Cost &tau_cost(int i, int label) { return tau_costs_.try_emplace({i, label}, INFINITE_COST).first->second; }

    void own_tau() {
        if (!options_.tau) return;
        for (int i = 0; i < count(); ++i)
            for (const LabelledTransitions &entry : factors_[i].labels) {
                bool own = true;
                for (int j = 0; j < count(); ++j) own = own && (j == i || !moves(j, entry.label));
                if (own) tau_cost(i, entry.label) = costs_[entry.label];
            }
    }
    void tau_distances() {
        tau.assign(count(), {});
        for (int i = 0; i < count(); ++i) {
            const int n = factors_[i].size;
            tau[i].assign(n * n, INFINITE_COST);
            for (int x = 0; x < n; ++x) at(tau, i, x, x) = 0;
            for (const LabelledTransitions &entry : factors_[i].labels)
                for (const Transition &t : entry.transitions)
                    at(tau, i, t.from, t.to) = std::min(at(tau, i, t.from, t.to), tau_cost(i, entry.label));
            for (int k = 0; k < n; ++k)
                for (int x = 0; x < n; ++x)
                    for (int y = 0; y < n; ++y)
                        if (at(tau, i, x, k) < INFINITE_COST && at(tau, i, k, y) < INFINITE_COST)
                            at(tau, i, x, y) = std::min(at(tau, i, x, y), at(tau, i, x, k) + at(tau, i, k, y));
        }
    }
    void close_tau() {
        for (bool changed = true; changed;) {
            tau_distances();
            changed = false;
            if (!options_.tau || !options_.recursive_tau) return;
            for (int i = 0; i < count(); ++i)
                for (const LabelledTransitions &entry : factors_[i].labels) {
                    Cost cost = costs_[entry.label];
                    for (int j = 0; j < count(); ++j) {
                        if (j == i || !moves(j, entry.label)) continue;
                        const Cost diameter = *std::max_element(tau[j].begin(), tau[j].end());
                        cost = diameter < INFINITE_COST && cost < INFINITE_COST ? cost + 2 * diameter : INFINITE_COST;
                    }
                    if (cost < tau_cost(i, entry.label)) {
                        tau_cost(i, entry.label) = cost;
                        changed = true;
                    }
                }
        }
    }
    bool noop_tau() {
        bool changed = false;
        for (int i = 0; i < count(); ++i)
            for (const LabelledTransitions &entry : factors_[i].labels) {
                Cost value = 0;
                for (int j = 0; j < count(); ++j)
                    if (j != i) value = sum(value, label_dominance(j, -1, entry.label));
                if (value <= MINUS_INFINITY) continue;
                const Cost cost = costs_[entry.label] + std::max<Cost>(0, -value);
                if (cost < tau_cost(i, entry.label)) {
                    tau_cost(i, entry.label) = cost;
                    changed = true;
                }
            }
        return changed;
    }

    // Replacing label l by label r in factor j; -1 is doing nothing, and so is a label that is irrelevant there.
    Cost label_dominance(int j, int l, int r) {
        const Transitions *challenge = l < 0 ? nullptr : factors_[j].find(l);
        const Transitions *answer = r < 0 ? nullptr : factors_[j].find(r);
        if ((challenge == nullptr && answer == nullptr) || l == r) return 0;
        Transitions stay;
        for (int x = 0; x < factors_[j].size; ++x) stay.push_back({x, x});
        Cost worst = INFINITE_COST;
        for (const Transition &step : challenge ? *challenge : stay) {
            Cost best = MINUS_INFINITY;
            for (const Transition &other : answer ? *answer : stay)
                if (other.from == step.from) best = std::max(best, at(d, j, step.to, other.to));
            worst = std::min(worst, best);
        }
        return worst;
    }
    bool compute_weights() {
        std::vector<Cost> fresh(static_cast<std::size_t>(count()) * labels() * (labels() + 1), MINUS_INFINITY);
        for (int l = 0; l < labels(); ++l)
            for (int r = -1; r < labels(); ++r) {
                std::vector<Cost> by_factor;
                for (int j = 0; j < count(); ++j) by_factor.push_back(label_dominance(j, l, r));
                for (int i = 0; i < count(); ++i) {
                    Cost value = 0;
                    for (int j = 0; j < count(); ++j)
                        if (j != i) value = sum(value, by_factor[j]);
                    fresh[(static_cast<std::size_t>(i) * labels() + l) * (labels() + 1) + r + 1] = value;
                }
            }
        const bool changed = fresh != weights_;
        weights_ = std::move(fresh);
        return changed;
    }

    void start() {
        d.assign(count(), {});
        for (int i = 0; i < count(); ++i) {
            const Factor &factor = factors_[i];
            const int n = factor.size;
            d[i].assign(n * n, 0);
            for (int s = 0; s < n; ++s)
                for (int t = 0; t < n; ++t) {
                    if (s == t) continue;
                    Cost value = factor.h[s] - factor.h[t];
                    if (factor.goal[s] && !factor.goal[t]) {
                        Cost to_goal = INFINITE_COST;
                        for (int g = 0; g < n; ++g)
                            if (factor.goal[g]) to_goal = std::min(to_goal, at(tau, i, t, g));
                        value = to_goal < INFINITE_COST ? std::min(value, -to_goal) : MINUS_INFINITY;
                    }
                    at(d, i, s, t) = value;
                }
        }
    }
    Cost answer(int i, int l, int target, int t) {
        Cost best = MINUS_INFINITY;
        for (int u = 0; u < factors_[i].size; ++u) {
            if (at(tau, i, t, u) >= INFINITE_COST) continue;
            Cost value = sum(at(d, i, target, u), weight(i, l, -1));
            for (const Step &step : steps_[i][u])
                value =
                    std::max(value, sum(sum(at(d, i, target, step.to), -costs_[step.label]), weight(i, l, step.label)));
            best = std::max(best, sum(value, costs_[l] - at(tau, i, t, u)));
        }
        return best;
    }
    Cost internal_answer(int i, int target, int t) {
        Cost best = MINUS_INFINITY;
        for (int u = 0; u < factors_[i].size; ++u)
            if (at(tau, i, t, u) < INFINITE_COST) best = std::max(best, sum(at(d, i, target, u), -at(tau, i, t, u)));
        return best;
    }
    bool sweep(int i) {
        const Factor &factor = factors_[i];
        bool changed = false;
        for (int s = 0; s < factor.size; ++s)
            for (int t = 0; t < factor.size; ++t) {
                const Cost old = at(d, i, s, t);
                if (s == t || old <= MINUS_INFINITY) continue;
                Cost value = old;
                for (const Step &step : steps_[i][s]) {
                    value = std::min(value, answer(i, step.label, step.to, t));
                    if (options_.strict && tau_cost(i, step.label) < INFINITE_COST)
                        value = std::min(value, sum(tau_cost(i, step.label), internal_answer(i, step.to, t)));
                }
                if (value < -options_.truncate) value = MINUS_INFINITY;
                if (at(tau, i, t, s) < INFINITE_COST) value = std::max(value, -at(tau, i, t, s));
                changed = changed || value != old;
                at(d, i, s, t) = value;
            }
        return changed;
    }
    void descend() {
        start();
        weights_.clear();
        for (; compute_weights(); ++rounds)
            for (int i = 0; i < count(); ++i)
                while (sweep(i)) {
                }
    }

    struct Step {
        int label;
        int to;
    };
    const std::vector<Factor> &factors_;
    std::vector<std::vector<std::vector<Step>>> steps_;  // by factor and state
    const std::vector<Cost> &costs_;
    const SimulationOptions options_;
    std::map<std::pair<int, int>, Cost> tau_costs_;
    std::vector<Cost> weights_;
};

}  // namespace misstep::dominance::naive
