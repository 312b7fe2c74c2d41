#include "dominance/simulation.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/interrupt.h"
#include "dominance/fixpoint.h"
#include "dominance/parallel.h"
#include "dominance/triangle.h"

namespace misstep::dominance {

const char *name(Fallback fallback) {
    switch (fallback) {
        case Fallback::none: return "none";
        case Fallback::steps: return "steps";
        case Fallback::cells: return "cells";
        case Fallback::time: return "time";
    }
    return "none";
}

namespace {

bool too_large(int size, const SimulationOptions &options) {
    return size > MAX_TAU_STATES || static_cast<std::uint64_t>(size) * size > options.max_cells;
}

template <class V>
class Run {
   public:
    Run(const std::vector<Lts> &factors, const std::vector<Cost> &costs, TauSystem &tau,
        const SimulationOptions &options, Crew &crew)
        : factors_(factors),
          costs_(costs),
          tau_(tau),
          options_(options),
          crew_(crew),
          count_(static_cast<int>(factors.size())),
          labels_(factors, costs, options.max_cells),
          fallback_(factors.size(), Fallback::none),
          steps_(factors.size(), 0) {
        for (int i = 0; i < count_; ++i) {
            let_interrupt(HEAVIEST);
            const typename Fixpoint<V>::Options own{
                options.strict, static_cast<V>(std::min<Cost>(options.truncate, Fixpoint<V>::LIMIT)), options.max_drops,
                options.max_steps};
            fixpoints_.push_back(too_large(factors[i].size(), options)
                                     ? nullptr
                                     : std::make_unique<Fixpoint<V>>(factors[i], tau[i], own));
            if (!fixpoints_[i] || labels_.weights[i].work() > 4 * options.max_cells) fallback_[i] = Fallback::cells;
        }
        // Large factors come first, so that no thread works on one alone at the end.
        order_.resize(count_);
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(),
                         [&](int a, int b) { return factors[a].size() > factors[b].size(); });
    }

    void solve() {
        do {
            descend();
        } while (options_.noop_tau && !crew_.out_of_time() && offer_noop_labels());
    }

    Table table(int i) const {
        if (!fixpoints_[i]) return Table::identity(factors_[i].size());
        if (fallback_[i] != Fallback::none && tau_[i].trivial()) return Table::identity(factors_[i].size());
        return Table::of(factors_[i].size(), fixpoints_[i]->values(), Fixpoint<V>::CERTAIN);
    }
    std::uint32_t drops(int i) const { return fixpoints_[i] ? fixpoints_[i]->drops() : 0; }
    Fallback fallback(int i) const { return fallback_[i]; }
    bool cut(int i) const { return fallback_[i] == Fallback::none && fixpoints_[i]->cut(); }
    int rounds() const { return rounds_; }
    std::uint64_t steps() const { return std::accumulate(steps_.begin(), steps_.end(), std::uint64_t{0}); }

   private:
    Cost value(int i, int dominated, int dominating) const {
        if (fixpoints_[i]) return fixpoints_[i]->at(dominated, dominating);
        return dominated == dominating ? 0 : MINUS_INFINITY;
    }
    bool update_dominance(int i) {
        return labels_.dominance[i].update(factors_[i], [&](int s, int t) { return value(i, s, t); });
    }
    void give_up(int i, Fallback reason) {
        fallback_[i] = reason;
        if (fixpoints_[i]) fixpoints_[i]->fall_back();
    }

    // In each round all factors use the same weights, so that the number of threads does not matter. Then the weights are updated.
    void descend() {
        std::vector<char> stale(count_, 1);
        crew_.run(count_, [&](int position) {
            const int i = order_[position];
            if (fixpoints_[i]) fixpoints_[i]->start(steps_[i]);
            if (fallback_[i] != Fallback::none) give_up(i, fallback_[i]);
            update_dominance(i);
        });
        bool changed = true;
        while (changed && !crew_.stop) {
            ++rounds_;
            std::vector<char> moved(count_, 0), fresh(count_, 0);
            crew_.run(count_, [&](int position) {
                const int i = order_[position];
                if (fallback_[i] != Fallback::none || !stale[i]) return;
                Fixpoint<V> &fixpoint = *fixpoints_[i];
                const std::uint64_t before = fixpoint.steps();
                labels_.weights[i].update(labels_.dominance);
                fixpoint.set_weights(labels_.weights[i], costs_);
                const bool done = fixpoint.run(crew_.stop);
                steps_[i] = fixpoint.steps();
                crew_.steps += steps_[i] - before;
                if (!done && !crew_.stop) give_up(i, Fallback::steps);
                moved[i] = 1;
            });
            if (crew_.stop) break;
            crew_.run(count_, [&](int position) {
                const int i = order_[position];
                if (moved[i]) fresh[i] = update_dominance(i);
            });
            changed = false;
            for (int i = 0; i < count_; ++i) {
                const std::vector<int> &read = labels_.weights[i].neighbours();
                stale[i] = std::any_of(read.begin(), read.end(), [&](int j) { return fresh[j] != 0; });
                changed = changed || (stale[i] && fallback_[i] == Fallback::none);
            }
        }
        if (crew_.stop)
            for (int i = 0; i < count_; ++i)
                if (fallback_[i] == Fallback::none) give_up_late(i);
    }
    void give_up_late(int i) {
        fixpoints_[i]->start(steps_[i]);
        give_up(i, Fallback::time);
    }

    // Offers labels whose loss in the other factors is bounded as internal moves. The loss is added to their cost.
    bool offer_noop_labels() {
        bool any = false;
        for (int i = 0; i < count_; ++i)
            for (std::size_t k = 0; k < factors_[i].labels().size(); ++k) {
                const int label = factors_[i].labels()[k];
                Cost sum = 0;
                for (const LabelWeights::Use &use : labels_.uses[label]) {
                    if (use.factor == i) continue;
                    const Cost value =
                        labels_.dominance[use.factor].from_nothing(labels_.dominance[use.factor].index(use.group));
                    sum = value == MINUS_INFINITY || sum == MINUS_INFINITY ? MINUS_INFINITY : sum + value;
                }
                if (sum == MINUS_INFINITY || sum < -MAX_TAU_COST) continue;
                any = tau_.offer(i, static_cast<int>(k), costs_[label] + std::max<Cost>(0, -sum)) || any;
            }
        if (any) tau_.close();
        return any;
    }

    const std::vector<Lts> &factors_;
    const std::vector<Cost> &costs_;
    TauSystem &tau_;
    const SimulationOptions &options_;
    Crew &crew_;
    const int count_;
    LabelSystem labels_;
    std::vector<std::unique_ptr<Fixpoint<V>>> fixpoints_;
    std::vector<Fallback> fallback_;
    std::vector<std::uint64_t> steps_;
    std::vector<int> order_;
    int rounds_ = 0;
};

template <class V>
Simulation run(const Factoring &factoring, const std::vector<Lts> &factors, TauSystem &tau,
               const SimulationOptions &options, Crew &crew) {
    Run<V> work(factors, factoring.costs, tau, options, crew);
    work.solve();
    Simulation result;
    result.rounds = work.rounds();
    result.steps = work.steps();
    // The triangle inequality is proven for the solution itself. It need not hold for tables that were truncated, so those are
    // checked.
    bool proven = options.strict && !options.noop_tau;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const Factor &factor = factoring.factors[i];
        result.factors.push_back(
            {factor.variables, factor.lookup, work.table(static_cast<int>(i)), work.fallback(static_cast<int>(i))});
        result.drops = std::max(result.drops, work.drops(static_cast<int>(i)));
        proven = proven && !work.cut(static_cast<int>(i));
    }
    result.transitive =
        proven || std::all_of(result.factors.begin(), result.factors.end(), [&](const FactorTable &factor) {
            return satisfies_triangle(factor.table, options.max_steps);
        });
    return result;
}

// With one factor every label is an internal move of its own cost, so t can walk its cheapest path to the goal, and
// D(s, t) = h(s) - h(t) solves the inequalities.
Simulation single(const Factoring &factoring) {
    const Factor &factor = factoring.factors[0];
    std::vector<std::int64_t> values;
    for (Cost h : factor.h)
        for (Cost other : factor.h) values.push_back(h - other);
    Simulation result;
    result.factors.push_back({factor.variables, factor.lookup,
                              Table::of<std::int64_t>(factor.size, values, MINUS_INFINITY), Fallback::none});
    return result;
}

// The largest number that can occur as a finite value.
Cost magnitude(const Factoring &factoring, const TauSystem &tau, const SimulationOptions &options) {
    Cost largest = options.truncate;
    for (Cost cost : factoring.costs) largest = std::max(largest, cost);
    for (std::size_t i = 0; i < factoring.factors.size(); ++i) {
        if (too_large(factoring.factors[i].size, options)) continue;
        for (Cost h : factoring.factors[i].h) largest = std::max(largest, h);
        for (Cost distance : tau[static_cast<int>(i)].distance)
            if (distance < INFINITE_COST) largest = std::max(largest, distance);
    }
    return largest;
}

}  // namespace

Simulation simulate(const Factoring &factoring, const SimulationOptions &options, const Limits &limits) {
    if (factoring.factors.size() == 1 && options.tau && !too_large(factoring.factors[0].size, options)) {
        const std::vector<Cost> &h = factoring.factors[0].h;
        if (*std::max_element(h.begin(), h.end()) <= options.truncate) return single(factoring);
    }
    Crew crew(options.threads, limits);
    std::vector<Lts> factors;
    for (const Factor &factor : factoring.factors) {
        let_interrupt(HEAVIEST);
        factors.emplace_back(factor);
    }
    TauSystem tau(factors, factoring.costs, {options.tau, options.recursive_tau, options.max_cells, options.max_steps});
    // Noop labels can make later internal moves more expensive than the bound above, so the wide type is used with them.
    if (!options.noop_tau && magnitude(factoring, tau, options) <= Fixpoint<std::int32_t>::LIMIT)
        return run<std::int32_t>(factoring, factors, tau, options, crew);
    return run<std::int64_t>(factoring, factors, tau, options, crew);
}

std::vector<LabelWeight> label_weights(const Factoring &factoring, const Simulation &simulation, int factor,
                                       std::uint64_t max_cells) {
    std::vector<Lts> factors;
    for (const Factor &each : factoring.factors) factors.emplace_back(each);
    LabelSystem system(factors, factoring.costs, max_cells);
    for (std::size_t j = 0; j < factors.size(); ++j) {
        const Table &table = simulation.factors[j].table;
        system.dominance[j].update(factors[j], [&](int s, int t) { return table.at(s, t); });
    }
    LabelWeights &weights = system.weights[factor];
    weights.update(system.dominance);
    const std::vector<int> &labels = factors[factor].labels();
    std::vector<LabelWeight> result;
    for (std::size_t k = 0; k < labels.size(); ++k) {
        const int own = weights.class_of(static_cast<int>(k));
        result.push_back({labels[k], NO_LABEL, weights.nothing(own)});
        for (std::size_t l = 0; l < labels.size(); ++l)
            result.push_back(
                {labels[k], labels[l], weights.between(own, weights.class_of(static_cast<int>(l)), system.dominance)});
    }
    return result;
}

}  // namespace misstep::dominance
