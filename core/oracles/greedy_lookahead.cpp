#include "oracles/greedy_lookahead.h"

namespace misstep {

GreedyLookahead::GreedyLookahead(BoundStore &store, Heuristic &heuristic, StateId root)
    : store_(store), heuristic_(heuristic), values_(store.transitions().task().variable_count()) {
    seen_.insert(root);
    if (!store.transitions().is_goal(root)) open_.push(0, 0, root);
}

const std::vector<StateId> &GreedyLookahead::advance(std::uint64_t expansions) {
    fresh_.clear();
    for (; expansions > 0 && !open_.empty(); --expansions) {
        const StateId id = open_.pop();
        ++expansions_;
        for (const auto &transition : store_.expanded(id)) {
            const StateId target = transition.target;
            if (store_.transitions().is_goal(target) || !seen_.insert(target).second) continue;
            store_.transitions().values(target, values_.data());
            const Cost estimate = heuristic_.evaluate(values_.data());
            ++evaluations_;
            if (estimate >= INFINITE_COST) continue;
            open_.push(estimate, 0, target);
            fresh_.push_back(target);
        }
    }
    return fresh_;
}

}  // namespace misstep
