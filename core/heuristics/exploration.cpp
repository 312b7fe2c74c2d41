#include "heuristics/exploration.h"

#include <algorithm>
#include <limits>

namespace misstep {

template <Combine COMBINE>
Exploration<COMBINE>::Exploration(std::shared_ptr<const RelaxedTask> relaxed)
    : relaxed_(std::move(relaxed)),
      labels_(relaxed_->fact_count(), UNREACHED),
      supporters_(COMBINE == Combine::ADD ? relaxed_->fact_count() : 0),
      missing_(relaxed_->operator_count()),
      ready_(relaxed_->operator_count() + 1),
      flags_(relaxed_->fact_count(), 0),
      queue_(relaxed_->effect_count()) {
    for (int fact = 0; fact < relaxed_->fact_count(); ++fact)
        if (!relaxed_->triggered(fact).empty()) flags_[fact] = TRIGGERS;
}

template <Combine COMBINE>
void Exploration<COMBINE>::set_goal(std::span<const std::int32_t> facts) {
    for (const std::int32_t fact : goal_) flags_[fact] &= ~GOAL;
    goal_.assign(facts.begin(), facts.end());
    std::sort(goal_.begin(), goal_.end());
    goal_.erase(std::unique(goal_.begin(), goal_.end()), goal_.end());
    for (const std::int32_t fact : goal_) flags_[fact] |= GOAL;
}

template <Combine COMBINE>
void Exploration<COMBINE>::explore(const int *values) {
    constexpr int never = std::numeric_limits<int>::max();
    if (COMBINE == Combine::ADD && relaxed_->has_zero_cost())
        run<true>(values, never);
    else
        run<false>(values, never);
}

template <Combine COMBINE>
bool Exploration<COMBINE>::explore_to_goal(const int *values) {
    int open_goals = static_cast<int>(goal_.size());
    for (int v = 0; v < relaxed_->variable_count(); ++v) open_goals -= is_goal(relaxed_->fact(v, values[v]));
    if (COMBINE == Combine::ADD && relaxed_->has_zero_cost()) return run<true>(values, open_goals);
    return run<false>(values, open_goals);
}

// Collects the operators that become ready without a branch: whether this fact is the last one an operator waits
// for is close to a coin toss.
template <Combine COMBINE>
inline void Exploration<COMBINE>::count_down(std::int32_t fact) {
    std::uint16_t *missing = missing_.data();
    std::int32_t *ready = ready_.data();
    std::size_t count = ready_count_;
    for (const std::int32_t op : relaxed_->triggered(fact)) {
        const std::uint16_t left = --missing[op];
        ready[count] = op;
        count += left == 0;
    }
    ready_count_ = count;
}

// Applies the operators that are ready. `now` is the cost at which their last precondition was settled.
template <Combine COMBINE>
template <bool BY_LAYER>
inline void Exploration<COMBINE>::fire(std::uint32_t now) {
    const RelaxedTask::Operator *operators = relaxed_->operators();
    for (std::size_t i = 0; i < ready_count_; ++i) {
        const std::int32_t op = ready_[i];
        Label label;
        if constexpr (COMBINE == Combine::MAX) {
            label = std::min(now + static_cast<std::uint32_t>(operators[op].cost), MAX_COST);
        } else {
            std::uint64_t cost = operators[op].cost;
            std::uint32_t layer = 0;
            for (const std::int32_t fact : relaxed_->preconditions(op)) {
                cost += labels_[fact] >> 32;
                layer = std::max(layer, static_cast<std::uint32_t>(labels_[fact]));
            }
            label = std::min<std::uint64_t>(cost, MAX_COST) << 32 | (layer + 1);
        }
        for (const std::int32_t fact : relaxed_->effects(op)) {
            const Label old = labels_[fact];
            if (label > old) continue;
            if constexpr (COMBINE == Combine::ADD) {
                if (label == old) {
                    supporters_[fact] = std::min(supporters_[fact], op);
                    continue;
                }
                supporters_[fact] = op;
            } else if (label == old) {
                continue;
            }
            labels_[fact] = label;
            if (flags_[fact] == 0) continue;
            const std::uint32_t cost = cost_of(label);
            if (cost >= FactQueue::BUCKETS || (BY_LAYER && cost == now))
                queue_.push_heap(label, fact);
            else if (cost != cost_of(old))
                queue_.push_bucket(cost, fact);
        }
    }
    ready_count_ = 0;
}

template <Combine COMBINE>
template <bool BY_LAYER>
bool Exploration<COMBINE>::run(const int *values, int open_goals) {
    std::fill(labels_.begin(), labels_.end(), UNREACHED);
    std::copy(relaxed_->precondition_counts().begin(), relaxed_->precondition_counts().end(), missing_.begin());
    queue_.clear();
    const int variables = relaxed_->variable_count();
    for (int v = 0; v < variables; ++v) labels_[relaxed_->fact(v, values[v])] = 0;
    if (open_goals == 0) return true;

    const auto start = relaxed_->without_preconditions();
    ready_count_ = start.size();
    std::copy(start.begin(), start.end(), ready_.begin());
    for (int v = 0; v < variables; ++v) count_down(relaxed_->fact(v, values[v]));
    std::uint32_t now = 0;
    fire<BY_LAYER>(now);

    while (true) {
        const bool heap_goes_on = BY_LAYER && !queue_.heap_empty() && queue_.heap_key() >> 32 == now;
        const std::uint32_t cost = heap_goes_on ? FactQueue::BUCKETS : queue_.next_bucket(now);
        if (cost != FactQueue::BUCKETS) {
            now = cost;
            queue_.take_bucket(cost, [&](std::int32_t fact) {
                if (cost_of(labels_[fact]) != cost) return;  // has become cheaper since
                if constexpr (BY_LAYER) {
                    queue_.push_heap(labels_[fact], fact);
                } else {
                    open_goals -= is_goal(fact);
                    count_down(fact);
                }
            });
            if (BY_LAYER) continue;
        } else {
            if (queue_.heap_empty()) return false;
            const std::uint64_t key = queue_.heap_key();
            now = cost_of(static_cast<Label>(key));
            do {
                const std::int32_t fact = queue_.pop_heap();
                if (labels_[fact] != key) continue;
                open_goals -= is_goal(fact);
                count_down(fact);
            } while (!queue_.heap_empty() && queue_.heap_key() == key);
        }
        if (open_goals == 0) return true;
        fire<BY_LAYER>(now);
    }
}

template <Combine COMBINE>
std::size_t Exploration<COMBINE>::bytes() const {
    return labels_.capacity() * sizeof(Label) +
           (supporters_.capacity() + ready_.capacity() + goal_.capacity()) * sizeof(std::int32_t) +
           missing_.capacity() * sizeof(std::uint16_t) + flags_.capacity() + queue_.bytes();
}

template class Exploration<Combine::MAX>;
template class Exploration<Combine::ADD>;

}  // namespace misstep
