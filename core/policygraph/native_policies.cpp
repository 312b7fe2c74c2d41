#include "policygraph/native_policies.h"

#include <algorithm>

#include "base/random.h"
#include "fdr/state.h"

namespace misstep {

namespace {
std::uint64_t hash_of(const int *state, int variables) {
    return State(std::vector<int>(state, state + variables)).hash();
}
}  // namespace

OperatorId Noise::choose(const int *state, std::span<const OperatorId> candidates) const {
    if (candidates.empty()) return NO_ACTION;
    CounterRandom random(seed_, hash_of(state, variables_));
    if (random.real() >= probability_) return NO_ACTION;
    return candidates[random.below(candidates.size())];
}

OperatorId NoisyPolicy::choose(const int *state, std::span<const OperatorId> candidates) {
    const OperatorId op = noise_.choose(state, candidates);
    return op != NO_ACTION || !inner_ ? op : inner_->choose(state, candidates);
}

Cost HeuristicPolicy::estimate(const int *state) {
    ++evaluations_;
    return task_.is_goal(state) ? 0 : heuristic_->evaluate(state);
}

double HeuristicPolicy::value(const int *state) {
    const Cost h = estimate(state);
    return h == INFINITE_COST ? std::numeric_limits<double>::infinity() : static_cast<double>(h);
}

OperatorId HeuristicPolicy::choose(const int *state, std::span<const OperatorId> candidates) {
    OperatorId best = NO_ACTION;
    Cost lowest = INFINITE_COST;
    for (OperatorId op : candidates) {
        task_.apply(op, state, successor_.data());
        const Cost h = estimate(successor_.data());
        if (h < lowest) {
            lowest = h;
            best = op;
        }
    }
    last_value_ = lowest == INFINITE_COST ? std::numeric_limits<double>::infinity() : static_cast<double>(lowest);
    return best;
}

void TablePolicy::set(const int *state, OperatorId op) {
    packer_.pack(state, packed_.data());
    if (states_.insert(packed_.data()).second) operators_.push_back(op);
}

OperatorId TablePolicy::choose(const int *state, std::span<const OperatorId> candidates) {
    packer_.pack(state, packed_.data());
    const StateId id = states_.find(packed_.data());
    if (id == NO_STATE) return NO_ACTION;
    return std::binary_search(candidates.begin(), candidates.end(), operators_[id]) ? operators_[id] : NO_ACTION;
}

}  // namespace misstep
