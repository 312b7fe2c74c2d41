#include "heuristics/exploration.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace misstep {

template <Combine COMBINE>
Exploration<COMBINE>::Exploration(std::shared_ptr<const RelaxedTask> relaxed)
    : relaxed_(std::move(relaxed)),
      labels_(relaxed_->fact_count(), UNREACHED),
      supporters_(COMBINE == Combine::ADD ? relaxed_->fact_count() : 0),
      waiting_count_(relaxed_->fact_count(), 0),
      flags_(relaxed_->fact_count(), 0),
      queue_(relaxed_->effect_count()),
      layers_(COMBINE == Combine::ADD && relaxed_->has_zero_cost() ? 2 * relaxed_->effect_count() : 0) {
    waiting_begin_.push_back(0);
    for (int fact = 0; fact < relaxed_->fact_count(); ++fact) {
        const int capacity = static_cast<int>(relaxed_->triggered(fact).size());
        waiting_begin_.push_back(waiting_begin_.back() + capacity);
        if (capacity > 0) flags_[fact] = TRIGGERS;
    }
    waiting_.resize(waiting_begin_.back());
    for (int op = 0; op < relaxed_->operator_count(); ++op)
        if (!relaxed_->preconditions(op).empty()) wait_for(relaxed_->preconditions(op).front(), op);
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

// Tries to apply an operator. `now` is the cost at which a fact it waited for was settled, and facts with labels up
// to `limit` are settled. Returns NONE, or a precondition that is not settled.
template <Combine COMBINE>
template <bool BY_LAYER>
inline std::int32_t Exploration<COMBINE>::apply(std::int32_t op, std::uint32_t now, Label limit) {
    Label *labels = labels_.data();
    const RelaxedTask::Operator *data = relaxed_->operators() + op;
    const std::int32_t *effects = relaxed_->effects(0).data();
    const std::int32_t *effects_begin = effects + data[0].effect_begin;
    const std::int32_t *effects_end = effects + data[1].effect_begin;
    const std::uint32_t least = std::min(now + static_cast<std::uint32_t>(data->cost), MAX_COST);

    // Most operators come too late to add anything, and seeing that does not take the preconditions.
    bool useful = false;
    for (const std::int32_t *fact = effects_begin; fact != effects_end; ++fact)
        useful |= cost_of(labels[*fact]) >= least;
    if (!useful) return NONE;

    const std::int32_t *preconditions = relaxed_->preconditions(0).data();
    std::uint64_t sum = data->cost;
    std::uint32_t layer = 0;
    for (std::int32_t i = data[0].precondition_begin; i != data[1].precondition_begin; ++i) {
        const Label label = labels[preconditions[i]];
        if (label > limit) return preconditions[i];
        sum += cost_of(label);
        layer = std::max(layer, static_cast<std::uint32_t>(label));
    }
    Label label = least;
    if constexpr (COMBINE == Combine::ADD) label = std::min<std::uint64_t>(sum, MAX_COST) << 32 | (layer + 1);

    for (const std::int32_t *at = effects_begin; at != effects_end; ++at) {
        const std::int32_t fact = *at;
        const Label old = labels[fact];
        if (label > old) continue;
        if (label == old) {
            if constexpr (COMBINE == Combine::ADD) supporters_[fact] = std::min(supporters_[fact], op);
            continue;
        }
        labels[fact] = label;
        if constexpr (COMBINE == Combine::ADD) supporters_[fact] = op;
        if (flags_[fact] == 0) continue;
        const std::uint32_t cost = cost_of(label);
        if (cost >= FactQueue::BUCKETS)
            queue_.push_heap(label, fact);
        else if (BY_LAYER && cost == now)
            push_layer(label, fact);
        else if (cost != cost_of(old))
            queue_.push_bucket(cost, fact);
    }
    return NONE;
}

// Tries the operators that wait for the fact, and lets those that are not ready wait for another one.
template <Combine COMBINE>
template <bool BY_LAYER>
inline void Exploration<COMBINE>::settle(std::int32_t fact, std::uint32_t now, Label limit) {
    std::int32_t *begin = waiting_.data() + waiting_begin_[fact];
    const std::int32_t *end = begin + waiting_count_[fact];
    std::int32_t *kept = begin;
    for (const std::int32_t *at = begin; at != end; ++at) {
        const std::int32_t other = apply<BY_LAYER>(*at, now, limit);
        *kept = *at;
        if (other == NONE)
            ++kept;
        else
            wait_for(other, *at);
    }
    waiting_count_[fact] = static_cast<std::int32_t>(kept - begin);
}

template <Combine COMBINE>
void Exploration<COMBINE>::push_layer(Label label, std::int32_t fact) {
    const auto layer = static_cast<std::uint32_t>(label);
    if (layer < FactQueue::BUCKETS)
        layers_.push_bucket(layer, fact);
    else
        queue_.push_heap(label, fact);
}

template <Combine COMBINE>
template <bool BY_LAYER>
bool Exploration<COMBINE>::run(const int *values, int open_goals) {
    std::fill(labels_.begin(), labels_.end(), UNREACHED);
    queue_.clear();
    layers_.clear();
    const int variables = relaxed_->variable_count();
    for (int v = 0; v < variables; ++v) labels_[relaxed_->fact(v, values[v])] = 0;
    if (open_goals == 0) return true;
    for (const std::int32_t op : relaxed_->without_preconditions()) apply<BY_LAYER>(op, 0, 0);
    for (int v = 0; v < variables; ++v) settle<BY_LAYER>(relaxed_->fact(v, values[v]), 0, 0);

    // Each round settles a group of facts with equal labels, or equal costs if that is enough. An entry of the
    // queue is out of date if its fact has got a smaller label since.
    std::uint32_t now = 0;
    std::uint32_t layer = 0;
    while (true) {
        if constexpr (BY_LAYER) {
            layer = layers_.next_bucket(layer);
            // Layers beyond the buckets follow in the heap.
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
                    settle<BY_LAYER>(entry->fact, now, label);
                }
                continue;
            }
        } else if (const std::uint32_t cost = queue_.next_bucket(now); cost != FactQueue::BUCKETS) {
            now = cost;
            const Label limit = greatest_label(cost);
            for (auto entry = queue_.take_bucket(cost); entry; entry = queue_.next(entry)) {
                if (cost_of(labels_[entry->fact]) != cost) continue;
                if (is_goal(entry->fact) && --open_goals == 0) return true;
                settle<BY_LAYER>(entry->fact, now, limit);
            }
            continue;
        }
        if (queue_.heap_empty()) return false;
        const auto label = static_cast<Label>(queue_.heap_key());
        now = cost_of(label);
        const std::int32_t fact = queue_.pop_heap();
        if (labels_[fact] != label) continue;
        if (is_goal(fact) && --open_goals == 0) return true;
        settle<BY_LAYER>(fact, now, label);
    }
}

template <Combine COMBINE>
std::size_t Exploration<COMBINE>::bytes() const {
    return labels_.capacity() * sizeof(Label) +
           (supporters_.capacity() + waiting_begin_.capacity() + waiting_count_.capacity() + waiting_.capacity() +
            goal_.capacity()) * sizeof(std::int32_t) +
           flags_.capacity() + queue_.bytes() + layers_.bytes();
}

template class Exploration<Combine::MAX>;
template class Exploration<Combine::ADD>;

}  // namespace misstep
