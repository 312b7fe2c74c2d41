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
      queue_(relaxed_->effect_count()),
      layers_(COMBINE == Combine::ADD && relaxed_->has_zero_cost() ? 2 * relaxed_->effect_count() : 0) {
    for (int fact = 0; fact < relaxed_->fact_count(); ++fact)
        if (!relaxed_->triggered(fact).empty()) flags_[fact] = TRIGGERS;
}

template <Combine COMBINE>
void Exploration<COMBINE>::set_goal(std::span<const std::int32_t> facts) {
    for (const std::int32_t fact : goal_) flags_[fact] &= ~GOAL;
    goal_.clear();
    for (const std::int32_t fact : facts) {
        if (is_goal(fact)) continue;
        flags_[fact] |= GOAL;
        goal_.push_back(fact);
    }
}

template <Combine COMBINE>
void Exploration<COMBINE>::explore(const int *values) {
    constexpr int never = std::numeric_limits<int>::max();
    if (COMBINE == Combine::ADD && relaxed_->has_zero_cost()) run<true>(values, never);
    else run<false>(values, never);
}

template <Combine COMBINE>
bool Exploration<COMBINE>::explore_to_goal(const int *values) {
    int open_goals = static_cast<int>(goal_.size());
    for (int v = 0; v < relaxed_->variable_count(); ++v) open_goals -= is_goal(relaxed_->fact(v, values[v]));
    if (COMBINE == Combine::ADD && relaxed_->has_zero_cost()) return run<true>(values, open_goals);
    return run<false>(values, open_goals);
}

// Collects the operators that become ready, without a branch: the processor could hardly predict whether this fact is the
// last one that an operator waits for.
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
    const RelaxedTask &relaxed = *relaxed_;
    const RelaxedTask::Operator *operators = relaxed.operators();
    Label *labels = labels_.data();
    std::int32_t *supporters = supporters_.data();
    const std::uint8_t *flags = flags_.data();
    const std::int32_t *ready = ready_.data();
    const std::int32_t *ready_end = ready + ready_count_;
    for (; ready != ready_end; ++ready) {
        const std::int32_t op = *ready;
        const auto effects = relaxed.effects(op);
        const std::uint32_t least = std::min(now + static_cast<std::uint32_t>(operators[op].cost), MAX_COST);
        Label label;
        if constexpr (COMBINE == Combine::MAX) {
            label = least;
        } else {
            // Most operators improve no label, which can be seen before their costs are summed up.
            bool useful = false;
            for (const std::int32_t fact : effects) useful |= cost_of(labels[fact]) >= least;
            if (!useful) continue;
            std::uint64_t cost = operators[op].cost;
            std::uint32_t layer = 0;
            for (const std::int32_t fact : relaxed.preconditions(op)) {
                cost += labels[fact] >> 32;
                layer = std::max(layer, static_cast<std::uint32_t>(labels[fact]));
            }
            label = std::min<std::uint64_t>(cost, MAX_COST) << 32 | (layer + 1);
        }
        for (const std::int32_t fact : effects) {
            const Label old = labels[fact];
            if (label > old) continue;
            if constexpr (COMBINE == Combine::ADD) {
                if (label == old) {
                    supporters[fact] = std::min(supporters[fact], op);
                    continue;
                }
                supporters[fact] = op;
            } else if (label == old) {
                continue;
            }
            labels[fact] = label;
            if (flags[fact] == 0) continue;
            const std::uint32_t cost = cost_of(label);
            if (cost >= FactQueue::BUCKETS) queue_.push_heap(label, fact);
            else if (BY_LAYER && cost == now) push_layer(label, fact);
            else if (cost != cost_of(old)) queue_.push_bucket(cost, fact);
        }
    }
    ready_count_ = 0;
}

template <Combine COMBINE>
void Exploration<COMBINE>::push_layer(Label label, std::int32_t fact) {
    const auto layer = static_cast<std::uint32_t>(label);
    if (layer < FactQueue::BUCKETS) layers_.push_bucket(layer, fact);
    else queue_.push_heap(label, fact);
}

template <Combine COMBINE>
template <bool BY_LAYER>
bool Exploration<COMBINE>::run(const int *values, int open_goals) {
    std::fill(labels_.begin(), labels_.end(), UNREACHED);
    std::copy(relaxed_->precondition_counts().begin(), relaxed_->precondition_counts().end(), missing_.begin());
    queue_.clear();
    layers_.clear();
    const int variables = relaxed_->variable_count();
    for (int v = 0; v < variables; ++v) labels_[relaxed_->fact(v, values[v])] = 0;
    if (open_goals == 0) return true;

    const auto start = relaxed_->without_preconditions();
    ready_count_ = start.size();
    std::copy(start.begin(), start.end(), ready_.begin());
    for (int v = 0; v < variables; ++v) count_down(relaxed_->fact(v, values[v]));

    // Each round settles a group of facts with equal labels, or equal costs if that is enough. An entry of the
    // queue is out of date if its fact has got a smaller label since.
    std::uint32_t now = 0;
    std::uint32_t layer = 0;
    while (true) {
        fire<BY_LAYER>(now);
        if constexpr (BY_LAYER) {
            layer = layers_.next_bucket(layer);
            // Layers that are too high for the buckets are in the heap.
            while (layer == FactQueue::BUCKETS && (queue_.heap_empty() || queue_.heap_key() >> 32 != now)) {
                const std::uint32_t cost = queue_.next_bucket(now + 1);
                if (cost == FactQueue::BUCKETS) break;
                now = cost;
                layers_.clear();
                for (auto entry = queue_.take_bucket(cost); entry; entry = queue_.next(entry))
                    if (cost_of(labels_[entry->fact]) == cost) push_layer(labels_[entry->fact], entry->fact);
                layer = layers_.next_bucket(0);
            }
            if (layer != FactQueue::BUCKETS) {
                const Label label = static_cast<Label>(static_cast<std::uint64_t>(now) << 32 | layer);
                for (auto entry = layers_.take_bucket(layer); entry; entry = layers_.next(entry)) {
                    if (labels_[entry->fact] != label) continue;
                    if (is_goal(entry->fact) && --open_goals == 0) return true;
                    count_down(entry->fact);
                }
                continue;
            }
        } else if (const std::uint32_t cost = queue_.next_bucket(now); cost != FactQueue::BUCKETS) {
            now = cost;
            for (auto entry = queue_.take_bucket(cost); entry; entry = queue_.next(entry)) {
                if (cost_of(labels_[entry->fact]) != cost) continue;
                if (is_goal(entry->fact) && --open_goals == 0) return true;
                count_down(entry->fact);
            }
            continue;
        }
        if (queue_.heap_empty()) return false;
        const auto label = static_cast<Label>(queue_.heap_key());
        now = cost_of(label);
        const std::int32_t fact = queue_.pop_heap();
        if (labels_[fact] != label) continue;
        if (is_goal(fact) && --open_goals == 0) return true;
        count_down(fact);
    }
}

template <Combine COMBINE>
std::size_t Exploration<COMBINE>::bytes() const {
    return labels_.capacity() * sizeof(Label) +
           (supporters_.capacity() + ready_.capacity() + goal_.capacity()) * sizeof(std::int32_t) +
           missing_.capacity() * sizeof(std::uint16_t) + flags_.capacity() + queue_.bytes() + layers_.bytes();
}

template class Exploration<Combine::MAX>;
template class Exploration<Combine::ADD>;

}  // namespace misstep
