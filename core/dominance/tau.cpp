#include "dominance/tau.h"

#include <algorithm>
#include <tuple>

#include "dominance/value_queue.h"

namespace misstep::dominance {

TauSystem::TauSystem(const std::vector<Lts> &factors, const std::vector<Cost> &costs, const TauOptions &options)
    : factors_(factors),
      costs_(costs),
      options_(options),
      uses_(costs.size()),
      taus_(factors.size()),
      dirty_(factors.size(), 1),
      excluded_(factors.size(), 0) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const Lts &lts = factors[i];
        for (std::size_t k = 0; k < lts.labels().size(); ++k)
            uses_[lts.labels()[k]].push_back(
                {static_cast<int>(i), static_cast<int>(k), !lts.loops_everywhere(lts.group_of()[k])});
        taus_[i].label_cost.assign(lts.labels().size(), INFINITE_COST);
    }
    if (options.enabled)
        for (std::size_t label = 0; label < uses_.size(); ++label)
            for (const Use &use : uses_[label]) {
                const auto elsewhere = [&](const Use &other) { return other.moves && other.factor != use.factor; };
                if (std::none_of(uses_[label].begin(), uses_[label].end(), elsewhere))
                    offer(use.factor, use.position, costs[label]);
            }
    close();
}

bool TauSystem::offer(int factor, int position, Cost cost) {
    const int size = factors_[factor].size();
    if (excluded_[factor] || size > MAX_TAU_STATES || static_cast<std::uint64_t>(size) * size > options_.max_cells)
        return false;
    if (cost > MAX_TAU_COST || cost >= taus_[factor].label_cost[position]) return false;
    taus_[factor].label_cost[position] = cost;
    dirty_[factor] = 1;
    return true;
}

Cost TauSystem::recursive_cost(int label, int factor) const {
    Cost cost = costs_[label];
    for (const Use &use : uses_[label]) {
        if (use.factor == factor || !use.moves) continue;
        const Cost walk = taus_[use.factor].there_and_back;
        if (walk > MAX_TAU_COST || cost + walk > MAX_TAU_COST) return INFINITE_COST;
        cost += walk;
    }
    return cost;
}

void TauSystem::close() {
    for (;;) {
        for (std::size_t i = 0; i < factors_.size(); ++i)
            if (dirty_[i]) compute_distances(static_cast<int>(i));
        if (!options_.enabled || !options_.recursive) return;
        // The costs of this round use the distances of the previous round, so the recursion is well-founded.
        bool changed = false;
        for (std::size_t label = 0; label < uses_.size(); ++label)
            for (const Use &use : uses_[label])
                changed =
                    offer(use.factor, use.position, recursive_cost(static_cast<int>(label), use.factor)) || changed;
        if (!changed) return;
    }
}

void TauSystem::compute_distances(int factor) {
    const Lts &lts = factors_[factor];
    Tau &tau = taus_[factor];
    const int n = lts.size();
    dirty_[factor] = 0;

    // The cheapest internal move between each two states.
    std::vector<Cost> group_cost(lts.groups(), INFINITE_COST);
    for (std::size_t k = 0; k < tau.label_cost.size(); ++k)
        group_cost[lts.group_of()[k]] = std::min(group_cost[lts.group_of()[k]], tau.label_cost[k]);
    struct Arc {
        int from, to;
        Cost cost;
    };
    std::vector<Arc> arcs;
    for (int g = 0; g < lts.groups(); ++g)
        if (group_cost[g] < INFINITE_COST)
            for (const Transition &t : lts.group(g))
                if (t.from != t.to) arcs.push_back({t.from, t.to, group_cost[g]});
    std::sort(arcs.begin(), arcs.end(), [](const Arc &a, const Arc &b) {
        return std::tuple(a.to, a.from, a.cost) < std::tuple(b.to, b.from, b.cost);
    });
    arcs.erase(std::unique(arcs.begin(), arcs.end(),
                           [](const Arc &a, const Arc &b) { return a.to == b.to && a.from == b.from; }),
               arcs.end());
    tau.there_and_back = n == 1 ? 0 : INFINITE_COST;
    tau.distance.clear();
    if (static_cast<std::uint64_t>(n) * (arcs.size() + n) > options_.max_steps) {
        excluded_[factor] = 1;
        std::fill(tau.label_cost.begin(), tau.label_cost.end(), INFINITE_COST);
        return;
    }
    if (arcs.empty()) return;
    tau.first.assign(n + 1, 0);
    tau.edges.clear();
    for (const Arc &arc : arcs) {
        ++tau.first[arc.to + 1];
        tau.edges.push_back({arc.from, arc.cost});
    }
    for (int s = 0; s < n; ++s) tau.first[s + 1] += tau.first[s];

    // Searches backwards from each state. Internal moves may cost 0.
    tau.distance.assign(static_cast<std::size_t>(n) * n, INFINITE_COST);
    Cost farthest = 0;
    std::vector<Cost> to_goal(n);
    ValueQueue<Cost> queue;  // of negative costs
    for (int goal = 0; goal < n; ++goal) {
        std::fill(to_goal.begin(), to_goal.end(), INFINITE_COST);
        to_goal[goal] = 0;
        queue.start(0);
        queue.push(0, goal);
        Cost value = 0;
        int s = 0;
        while (queue.pop(value, s)) {
            if (-value > to_goal[s]) continue;
            for (int e = tau.first[s]; e < tau.first[s + 1]; ++e) {
                const Cost reached = tau.edges[e].cost - value;
                if (reached < to_goal[tau.edges[e].from])
                    queue.push(-(to_goal[tau.edges[e].from] = reached), tau.edges[e].from);
            }
        }
        for (int s = 0; s < n; ++s) {
            tau.distance[static_cast<std::size_t>(s) * n + goal] = to_goal[s];
            farthest = std::max(farthest, to_goal[s]);
        }
    }
    if (farthest < INFINITE_COST) tau.there_and_back = 2 * farthest;

    // A move that is more expensive than another path between its states is never needed.
    std::vector<int> first(n + 1, 0);
    std::size_t kept = 0;
    for (int s = 0; s < n; ++s) {
        for (int e = tau.first[s]; e < tau.first[s + 1]; ++e)
            if (tau.edges[e].cost == tau.at(tau.edges[e].from, s, n)) tau.edges[kept++] = tau.edges[e];
        first[s + 1] = static_cast<int>(kept);
    }
    tau.edges.resize(kept);
    tau.first = std::move(first);
}

}  // namespace misstep::dominance
