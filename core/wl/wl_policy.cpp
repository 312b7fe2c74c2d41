#include "wl/wl_policy.h"

#include <algorithm>
#include <cmath>

namespace misstep {

WlPolicy::WlPolicy(const SuccessorGenerator &generator, WlRanker ranker, std::uint32_t horizon)
    : generator_(generator),
      ranker_(std::move(ranker)),
      horizon_(horizon),
      from_(static_cast<std::size_t>(generator.task().variable_count())),
      to_(from_.size()),
      packed_(static_cast<std::size_t>(generator.packer().words())),
      seen_(generator.packer().words()) {}

double WlPolicy::value(const int *state) {
    ++evaluations_;
    return ranker_.value(state);
}

OperatorId WlPolicy::choose(const int *state, std::span<const OperatorId> candidates) {
    last_value_ = std::numeric_limits<double>::quiet_NaN();
    if (candidates.empty()) return NO_ACTION;
    return horizon_ ? climb(state, candidates) : greedy(state, candidates);
}

OperatorId WlPolicy::greedy(const int *state, std::span<const OperatorId> candidates) {
    values_.clear();
    for (OperatorId op : candidates) {
        generator_.task().apply(op, state, to_.data());
        values_.push_back(value(to_.data()));
        if (!std::isfinite(values_.back())) return FAILED;
    }
    const double bound = *std::min_element(values_.begin(), values_.end()) + TOLERANCE;
    std::size_t i = 0;
    while (values_[i] > bound) ++i;
    last_value_ = values_[i];
    return candidates[i];
}

OperatorId WlPolicy::climb(const int *state, std::span<const OperatorId> candidates) {
    const double start = value(state);
    if (!std::isfinite(start)) return FAILED;
    const OperatorId down = greedy(state, candidates);
    if (down == FAILED || last_value_ < start - TOLERANCE) return down;
    const Task &task = generator_.task();
    const StatePacker &packer = generator_.packer();
    seen_.clear();
    packer.pack(state, packed_.data());
    seen_.insert(packed_.data());
    first_.assign(1, NO_ACTION);
    for (StateId id = 0; id < seen_.size(); ++id) {
        packer.unpack(seen_[id], from_.data());
        if (id) generator_.applicable(from_.data(), applicable_);
        for (OperatorId op : id ? std::span<const OperatorId>(applicable_) : candidates) {
            task.apply(op, from_.data(), to_.data());
            packer.pack(to_.data(), packed_.data());
            if (!seen_.insert(packed_.data()).second) continue;
            first_.push_back(id ? first_[id] : op);
            const double reached = value(to_.data());
            if (!std::isfinite(reached)) return FAILED;
            if (task.is_goal(to_.data()) || reached < start - TOLERANCE) {
                task.apply(first_.back(), state, to_.data());
                last_value_ = ranker_.value(to_.data());
                return first_.back();
            }
            if (seen_.size() > horizon_) return stuck();
        }
    }
    return stuck();
}

OperatorId WlPolicy::stuck() {
    last_value_ = std::numeric_limits<double>::quiet_NaN();
    return NO_ACTION;
}

}  // namespace misstep
