#include "fdr/state_space.h"

#include <algorithm>
#include <queue>

namespace misstep {

StateSpace::StateSpace(const SuccessorGenerator &generator, const std::vector<std::vector<int>> &roots,
                       const Limits &limits)
    : generator_(generator), registry_(generator.packer().words()) {
    LimitWatch watch(limits);
    enumerate(roots, watch);
    if (complete()) solve(watch);
}

std::size_t StateSpace::bytes() const {
    return registry_.bytes() + offsets_.capacity() * sizeof(offsets_[0]) +
           operators_.capacity() * sizeof(operators_[0]) + targets_.capacity() * sizeof(targets_[0]) +
           parents_.capacity() * sizeof(parents_[0]) + parent_operators_.capacity() * sizeof(parent_operators_[0]) +
           h_star_.capacity() * sizeof(h_star_[0]) + best_operator_.capacity() * sizeof(best_operator_[0]) +
           is_goal_.capacity();
}

void StateSpace::enumerate(const std::vector<std::vector<int>> &roots, LimitWatch &watch) {
    const StatePacker &packer = generator_.packer();
    std::vector<std::uint64_t> successor(packer.words());
    const auto add = [&](StateId parent, OperatorId op) {
        const auto [id, is_new] = registry_.insert(successor.data());
        if (is_new) {
            parents_.push_back(parent);
            parent_operators_.push_back(op);
            is_goal_.push_back(generator_.is_goal(successor.data()));
        }
        return id;
    };
    for (const std::vector<int> &root : roots) {
        packer.pack(root.data(), successor.data());
        add(NO_STATE, NO_OPERATOR);
    }
    std::vector<OperatorId> applicable;
    offsets_.push_back(0);
    for (StateId s = 0; s < registry_.size(); ++s) {
        limit_ = watch.check(progress_, [&] { return bytes(); });
        if (limit_ != Limit::none) return;
        const std::uint64_t *state = registry_[s];
        applicable.clear();
        generator_.for_each_applicable(PackedValues{packer, state}, [&](OperatorId op) { applicable.push_back(op); });
        std::sort(applicable.begin(), applicable.end());
        for (OperatorId op : applicable) {
            generator_.apply(op, state, successor.data());
            operators_.push_back(op);
            targets_.push_back(add(s, op));
        }
        offsets_.push_back(targets_.size());
        progress_.generated += applicable.size();
        ++progress_.expansions;
    }
}

void StateSpace::solve(LimitWatch &watch) {
    const Task &task = generator_.task();
    const StateId n = size();
    // The transposed graph: predecessors of t at [reverse[t], reverse[t + 1]).
    std::vector<std::uint64_t> reverse(std::size_t{n} + 2, 0);
    for (StateId target : targets_) ++reverse[target + 2];
    for (std::size_t i = 2; i < reverse.size(); ++i) reverse[i] += reverse[i - 1];
    std::vector<StateId> sources(targets_.size());
    std::vector<OperatorId> source_operators(targets_.size());
    for (StateId s = 0; s < n; ++s)
        for (std::uint64_t e = offsets_[s]; e < offsets_[s + 1]; ++e) {
            const std::uint64_t slot = reverse[targets_[e] + 1]++;
            sources[slot] = s;
            source_operators[slot] = operators_[e];
        }

    struct Entry {
        Cost cost;
        std::uint32_t steps;
        StateId state;
        bool operator>(const Entry &other) const {
            return cost != other.cost ? cost > other.cost : steps > other.steps;
        }
    };
    h_star_.assign(n, INFINITE_COST);
    best_operator_.assign(n, NO_OPERATOR);
    std::vector<std::uint32_t> steps(n, 0);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (StateId s = 0; s < n; ++s)
        if (is_goal_[s]) {
            h_star_[s] = 0;
            queue.push({0, 0, s});
        }
    Progress progress;
    while (!queue.empty()) {
        const Entry entry = queue.top();
        queue.pop();
        const StateId t = entry.state;
        if (entry.cost != h_star_[t] || entry.steps != steps[t]) continue;
        limit_ = watch.check(progress, [&] { return bytes() + reverse.size() * 8 + sources.size() * 8; });
        if (limit_ != Limit::none) return;
        for (std::uint64_t e = reverse[t]; e < reverse[t + 1]; ++e) {
            const StateId s = sources[e];
            const Cost cost = entry.cost + task.cost(source_operators[e]);
            if (cost < h_star_[s] || (cost == h_star_[s] && entry.steps + 1 < steps[s])) {
                h_star_[s] = cost;
                steps[s] = entry.steps + 1;
                queue.push({cost, steps[s], s});
            }
        }
    }
    // Transitions of a state are sorted by operator, so the first that fits is the lowest.
    for (StateId s = 0; s < n; ++s) {
        if (is_goal_[s] || h_star_[s] == INFINITE_COST) continue;
        for (std::uint64_t e = offsets_[s]; e < offsets_[s + 1] && best_operator_[s] == NO_OPERATOR; ++e) {
            const StateId t = targets_[e];
            if (h_star_[t] + task.cost(operators_[e]) == h_star_[s] && steps[t] + 1 == steps[s])
                best_operator_[s] = operators_[e];
        }
    }
}

StateId StateSpace::find(const int *values) const {
    std::vector<std::uint64_t> packed(generator_.packer().words());
    generator_.packer().pack(values, packed.data());
    return registry_.find(packed.data());
}

void StateSpace::values(StateId id, int *result) const { generator_.packer().unpack(registry_[id], result); }

}  // namespace misstep
