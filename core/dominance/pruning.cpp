#include "dominance/pruning.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace misstep::dominance {

namespace {

struct Edge {
    int to;
    Cost cost;
};

// Edges by state, forwards or backwards.
struct Graph {
    Graph(const Factor &factor, const std::vector<Cost> &costs, bool backwards) : first(factor.size + 1, 0) {
        for (const LabelledTransitions &entry : factor.labels)
            for (const Transition &t : entry.transitions) ++first[(backwards ? t.to : t.from) + 1];
        for (int s = 0; s < factor.size; ++s) first[s + 1] += first[s];
        edges.resize(first.back());
        std::vector<std::size_t> next(first.begin(), first.end() - 1);
        for (const LabelledTransitions &entry : factor.labels)
            for (const Transition &t : entry.transitions)
                edges[next[backwards ? t.to : t.from]++] = {backwards ? t.from : t.to, costs[entry.label]};
    }
    std::vector<std::size_t> first;
    std::vector<Edge> edges;
};

void fill_distances(Factor &factor, const std::vector<Cost> &costs) {
    const Graph graph(factor, costs, true);
    factor.h.assign(factor.size, INFINITE_COST);
    using Entry = std::pair<Cost, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (int s = 0; s < factor.size; ++s)
        if (factor.goal[s]) queue.emplace(factor.h[s] = 0, s);
    while (!queue.empty()) {
        const auto [cost, s] = queue.top();
        queue.pop();
        if (cost > factor.h[s]) continue;
        for (std::size_t e = graph.first[s]; e < graph.first[s + 1]; ++e) {
            const Cost better = cost + graph.edges[e].cost;
            if (better < factor.h[graph.edges[e].to])
                queue.emplace(factor.h[graph.edges[e].to] = better, graph.edges[e].to);
        }
    }
}

std::vector<char> reachable(const Factor &factor, const std::vector<Cost> &costs) {
    const Graph graph(factor, costs, false);
    std::vector<char> seen(factor.size, 0);
    std::vector<int> stack{factor.initial};
    seen[factor.initial] = 1;
    while (!stack.empty()) {
        const int s = stack.back();
        stack.pop_back();
        for (std::size_t e = graph.first[s]; e < graph.first[s + 1]; ++e)
            if (!seen[graph.edges[e].to]) {
                seen[graph.edges[e].to] = 1;
                stack.push_back(graph.edges[e].to);
            }
    }
    return seen;
}

// False if the initial state was removed.
bool prune_states(Factor &factor, const std::vector<Cost> &costs, bool unreachable) {
    fill_distances(factor, costs);
    std::vector<char> keep(factor.size, 1);
    if (unreachable) keep = reachable(factor, costs);
    std::vector<int> renamed(factor.size, PRUNED);
    int size = 0;
    for (int s = 0; s < factor.size; ++s)
        if (keep[s] && factor.h[s] < INFINITE_COST) renamed[s] = size++;
    if (renamed[factor.initial] == PRUNED) return false;
    if (size < factor.size) rename_states(factor, renamed, size);
    factor.dirty = false;
    return true;
}

}  // namespace

void prune(Factoring &factoring, bool unreachable) {
    for (bool changed = true; changed;) {
        changed = false;
        std::vector<int> dead;
        for (Factor &factor : factoring.factors) {
            if (!factor.dirty) continue;
            // A factor has to be pruned again only after labels were removed from it.
            if (!prune_states(factor, factoring.costs, unreachable)) {
                factoring.solvable = false;
                return;
            }
            drop_loops(factor);
            for (const LabelledTransitions &entry : factor.labels)
                if (entry.transitions.empty()) dead.push_back(entry.label);
        }
        if (dead.empty()) continue;
        std::sort(dead.begin(), dead.end());
        for (Factor &factor : factoring.factors) {
            const std::size_t removed = std::erase_if(factor.labels, [&](const LabelledTransitions &entry) {
                if (!std::binary_search(dead.begin(), dead.end(), entry.label)) return false;
                factor.dirty = factor.dirty || !entry.transitions.empty();
                return true;
            });
            changed = changed || (removed > 0 && factor.dirty);
        }
    }
}

}  // namespace misstep::dominance
