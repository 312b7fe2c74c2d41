#include "dominance/fixpoint.h"

#include <algorithm>
#include <span>

namespace misstep::dominance {

template <class V>
Fixpoint<V>::Fixpoint(const Lts &lts, const Tau &tau, const Options &options)
    : lts_(lts),
      tau_(tau),
      options_(options),
      n_(lts.size()),
      queued_(n_, 0),
      need_(n_),
      wanted_(n_),
      best_(n_),
      all_(n_),
      base_(n_) {}

template <class V>
void Fixpoint<V>::start(std::uint64_t steps_so_far) {
    steps_ = steps_so_far;
    cut_ = false;
    drops_.assign(n_, 0);
    const std::size_t cells = static_cast<std::size_t>(n_) * n_;
    d_.resize(cells);
    minus_tau_.clear();
    edges_.clear();
    if (!tau_.trivial()) {
        for (const Tau::Edge &edge : tau_.edges) edges_.push_back({edge.from, static_cast<V>(edge.cost)});
        minus_tau_.resize(cells);
        for (int t = 0; t < n_; ++t)
            for (int s = 0; s < n_; ++s) {
                const Cost distance = tau_.at(t, s, n_);
                minus_tau_[static_cast<std::size_t>(s) * n_ + t] =
                    distance >= INFINITE_COST ? NEG : static_cast<V>(-distance);
            }
    }
    std::vector<V> to_goal(n_, NEG);  // -taugoal(t)
    for (int g = 0; g < n_; ++g)
        if (lts_.goal(g)) {
            if (tau_.trivial()) {
                to_goal[g] = 0;
            } else {
                for (int t = 0; t < n_; ++t) to_goal[t] = std::max(to_goal[t], returning(g)[t]);
            }
        }
    for (int s = 0; s < n_; ++s) {
        V *values = row(s);
        for (int t = 0; t < n_; ++t) {
            V v = static_cast<V>(lts_.h(s) - lts_.h(t));
            if (v < -options_.truncate) {
                v = NEG;
                cut_ = true;
            }
            if (lts_.goal(s) && !lts_.goal(t)) v = std::min(v, to_goal[t]);
            if (v < -options_.truncate) {
                cut_ = cut_ || v > CERTAIN;
                v = NEG;
            }
            if (!tau_.trivial()) v = std::max(v, returning(s)[t]);
            values[t] = v;
        }
        values[s] = 0;
    }
    // Labels with the same class, cost and internal cost are the same challenge.
    all_challenges_.assign(lts_.groups(), {});
    challenges_.assign(lts_.groups(), {});
    stale_.assign(lts_.groups(), 1);
    answers_.clear();
    nothing_.clear();
    any_stale_ = true;
    queue_.clear();
    std::fill(queued_.begin(), queued_.end(), 0);
    for (int s = 0; s < n_; ++s) enqueue(s);
}

template <class V>
V Fixpoint<V>::clamped(Cost value) {
    // Values beyond three times the range of D need not be told apart, because no entry of D is so low or so high.
    if (value == MINUS_INFINITY) return NEG;
    if (value > 3 * static_cast<Cost>(LIMIT)) return 3 * LIMIT;
    if (value >= -3 * static_cast<Cost>(LIMIT)) return static_cast<V>(value);
    cut_ = true;
    return NEG;
}

template <class V>
void Fixpoint<V>::set_weights(const LabelWeights &weights, const std::vector<Cost> &costs) {
    const int groups = lts_.groups();
    if (all_challenges_.empty() || nothing_.empty()) {
        for (std::size_t k = 0; k < lts_.labels().size(); ++k) {
            const Cost internal = tau_.label_cost[k];
            const Challenge challenge{weights.class_of(static_cast<int>(k)), static_cast<V>(costs[lts_.labels()[k]]),
                                      options_.strict && internal < INFINITE_COST ? clamped(internal) : NEG};
            std::vector<Challenge> &list = all_challenges_[lts_.group_of()[k]];
            if (std::find(list.begin(), list.end(), challenge) == list.end()) list.push_back(challenge);
        }
    }
    cut_ = cut_ || weights.saturated();
    std::vector<V> fresh_answers(static_cast<std::size_t>(weights.classes()) * groups),
        fresh_nothing(weights.classes());
    for (int c = 0; c < weights.classes(); ++c) {
        fresh_nothing[c] = clamped(weights.nothing(c));
        for (int g = 0; g < groups; ++g)
            fresh_answers[static_cast<std::size_t>(c) * groups + g] = clamped(weights.answer(c, g));
    }
    std::vector<char> changed(weights.classes(), 1);
    if (!nothing_.empty())
        for (int c = 0; c < weights.classes(); ++c)
            changed[c] = fresh_nothing[c] != nothing_[c] ||
                         !std::equal(answers(c), answers(c) + groups,
                                     fresh_answers.data() + static_cast<std::size_t>(c) * groups);
    answers_ = std::move(fresh_answers);
    nothing_ = std::move(fresh_nothing);
    steps_ += answers_.size();
    for (int g = 0; g < groups; ++g) {
        if (std::none_of(all_challenges_[g].begin(), all_challenges_[g].end(),
                         [&](const Challenge &c) { return changed[c.label_class]; }))
            continue;
        stale_[g] = 1;
        any_stale_ = true;
        challenges_[g] = all_challenges_[g];
        prune_challenges(challenges_[g]);
    }
}

// Whether the first challenge is at least as hard as the second, for every D.
template <class V>
bool Fixpoint<V>::covers(const Challenge &harder, const Challenge &easier) const {
    if (easier.tau_cost != NEG && (harder.tau_cost == NEG || harder.tau_cost > easier.tau_cost)) return false;
    const auto below = [&](V a, V b) { return a == NEG || (b != NEG && a + harder.cost <= b + easier.cost); };
    if (!below(nothing_[harder.label_class], nothing_[easier.label_class])) return false;
    const V *a = answers(harder.label_class), *b = answers(easier.label_class);
    for (int g = 0; g < lts_.groups(); ++g)
        if (!below(a[g], b[g])) return false;
    return true;
}

template <class V>
void Fixpoint<V>::prune_challenges(std::vector<Challenge> &list) const {
    constexpr std::size_t COMPARED =
        64;  // longer lists are rare, and comparing all of their entries would cost more than it saves
    std::vector<Challenge> kept;
    for (const Challenge &challenge : list) {
        const std::size_t compared = std::min(kept.size(), COMPARED);
        if (std::any_of(kept.begin(), kept.begin() + compared,
                        [&](const Challenge &other) { return covers(other, challenge); }))
            continue;
        std::erase_if(kept, [&, i = std::size_t{0}](const Challenge &other) mutable {
            return i++ < COMPARED && covers(challenge, other);
        });
        kept.push_back(challenge);
    }
    list = std::move(kept);
}

template <class V>
void Fixpoint<V>::enqueue(int s) {
    if (queued_[s]) return;
    queued_[s] = 1;
    queue_.push_back(s);
}

// Fills `need_` with the values that the answers must reach so that no row is lowered. Entries that cannot fall need nothing.
template <class V>
bool Fixpoint<V>::needed(std::span<const int> sources) {
    constexpr V NOTHING = std::numeric_limits<V>::min();
    std::fill(need_.begin(), need_.end(), NOTHING);
    V *need = need_.data();
    for (int s : sources) {
        const V *values = row(s);
        const V *floor = tau_.trivial() ? nullptr : returning(s);
        if (floor == nullptr) {
            for (int t = 0; t < n_; ++t)
                need[t] = std::max(need[t], values[t] > CERTAIN && t != s ? values[t] : NOTHING);
        } else {
            for (int t = 0; t < n_; ++t) need[t] = std::max(need[t], values[t] > floor[t] ? values[t] : NOTHING);
        }
    }
    steps_ += static_cast<std::uint64_t>(n_) * sources.size();
    V any = NOTHING;
    for (int t = 0; t < n_; ++t) any = std::max(any, need[t]);
    return any > NOTHING;
}

template <class V>
bool Fixpoint<V>::short_of(const std::vector<V> &wanted, const V *values) const {
    int missing = 0;
    for (int t = 0; t < n_; ++t) missing |= values[t] < wanted[t];
    return missing != 0;
}

template <class V>
void Fixpoint<V>::close(V *values) {
    V top = values[improved_[0]];
    for (int s : improved_) top = std::max(top, values[s]);
    queue_of_values_.start(top);
    for (int s : improved_) queue_of_values_.push(values[s], s);
    V value = 0;
    int s = 0;
    while (queue_of_values_.pop(value, s)) {
        if (value < values[s]) continue;
        for (int e = tau_.first[s]; e < tau_.first[s + 1]; ++e) {
            const Edge &edge = edges_[e];
            const V reached = value - edge.cost;
            if (reached > values[edge.from]) {
                values[edge.from] = reached;
                queue_of_values_.push(reached, edge.from);
            }
        }
        steps_ += 4 + tau_.first[s + 1] - tau_.first[s];
    }
}

// Computes in `best_` the value of the best answer of each t. Values that are at least `wanted` need not be exact.
template <class V>
void Fixpoint<V>::answer(const Challenge &challenge, const V *target, const V *base, const std::vector<V> &wanted) {
    const V nothing = nothing_[challenge.label_class];
    V *best = best_.data();
    if (nothing == NEG) {
        std::fill(best_.begin(), best_.end(), NEG);
    } else {
        const V gain = nothing + challenge.cost;
        for (int t = 0; t < n_; ++t) best[t] = base[t] + gain;
    }
    steps_ += n_;
    if (!short_of(wanted, best)) return;

    const V *weight = answers(challenge.label_class);
    const auto by_label = [&](int u) {
        V value = NEG;
        for (const Lts::Step &step : lts_.out(u))
            if (weight[step.group] != NEG) value = std::max<V>(value, target[step.to] + weight[step.group]);
        steps_ += lts_.out(u).size();
        return static_cast<V>(value + challenge.cost);
    };
    if (tau_.trivial()) {
        for (int t = 0; t < n_; ++t)
            if (best[t] < wanted[t]) best[t] = std::max(best[t], by_label(t));
        return;
    }
    // Only answers that are better than doing nothing have to be propagated along internal moves.
    improved_.clear();
    for (int u = 0; u < n_; ++u) {
        const V value = by_label(u);
        if (value > best[u] && value > CERTAIN) {
            best[u] = value;
            improved_.push_back(u);
        }
    }
    if (!improved_.empty() && short_of(wanted, best)) close(best);
}

// Lowers the rows of all sources of the transitions into `target`.
template <class V>
bool Fixpoint<V>::lower_rows(const Lts::Arrival &arrival, int target) {
    const std::span<const int> sources = lts_.sources(arrival);
    if (!needed(sources)) return true;
    const V *values = row(target);
    const V *base = values;
    if (cut_ && !tau_.trivial()) {
        base_.assign(values, values + n_);
        improved_.clear();
        for (int t = 0; t < n_; ++t)
            if (base_[t] > CERTAIN) improved_.push_back(t);
        if (!improved_.empty()) close(base_.data());
        base = base_.data();
    }
    bool any = false;
    for (const Challenge &challenge : challenges_[arrival.group]) {
        if (challenge.tau_cost == NEG) {
            answer(challenge, values, base, need_);
        } else {
            // The challenge must also be answered by internal moves, so a value above theirs is not needed.
            for (int t = 0; t < n_; ++t) wanted_[t] = std::min<V>(need_[t], base[t] + challenge.tau_cost);
            answer(challenge, values, base, wanted_);
            for (int t = 0; t < n_; ++t) best_[t] = std::min<V>(best_[t], base[t] + challenge.tau_cost);
        }
        if (!short_of(need_, best_.data())) continue;
        if (!any) {
            all_ = best_;
        } else {
            for (int t = 0; t < n_; ++t) all_[t] = std::min(all_[t], best_[t]);
        }
        any = true;
    }
    if (any)
        for (int s : sources)
            if (lower_row(s)) enqueue(s);
    return steps_ <= options_.max_steps;
}

template <class V>
bool Fixpoint<V>::lower_row(int s) {
    V *values = row(s);
    const V *bound = all_.data();
    const V truncated = -options_.truncate;
    const bool falling = drops_[s] >= options_.max_drops;
    int changed = 0, cut = 0;
    const auto lower = [&](V old, V limit, V floor) {
        // In a row that is assumed to fall for ever, only values that are not lowered stay finite.
        const V lowest = falling ? old : truncated;
        V v = std::min(old, limit);
        cut |= v < lowest && v > CERTAIN;
        v = v < lowest ? NEG : v;
        v = std::max(v, floor);
        changed |= v != old;
        return v;
    };
    if (tau_.trivial()) {
        for (int t = 0; t < n_; ++t) values[t] = t == s ? 0 : lower(values[t], bound[t], NEG);
    } else {
        const V *floor = returning(s);
        for (int t = 0; t < n_; ++t) values[t] = lower(values[t], bound[t], floor[t]);
    }
    steps_ += n_;
    drops_[s] += changed;
    cut_ = cut_ || cut;
    return changed != 0;
}

template <class V>
bool Fixpoint<V>::run(const std::atomic<bool> &stop) {
    if (any_stale_) {
        for (int target = 0; target < n_; ++target) {
            if (queued_[target]) continue;  // it is processed below, with all its groups
            for (const Lts::Arrival &arrival : lts_.in(target)) {
                if (!stale_[arrival.group]) continue;
                if (stop.load(std::memory_order_relaxed) || !lower_rows(arrival, target)) return false;
            }
        }
        std::fill(stale_.begin(), stale_.end(), 0);
        any_stale_ = false;
    }
    // First in, first out; the queue is compacted now and then.
    std::size_t head = 0;
    while (head < queue_.size()) {
        const int target = queue_[head++];
        queued_[target] = 0;
        for (const Lts::Arrival &arrival : lts_.in(target))
            if (stop.load(std::memory_order_relaxed) || !lower_rows(arrival, target)) return false;
        if (head > 4096 && head > queue_.size() / 2) {
            queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head));
            head = 0;
        }
    }
    queue_.clear();
    return true;
}

template <class V>
void Fixpoint<V>::fall_back() {
    if (!tau_.trivial()) {
        d_ = minus_tau_;
        return;
    }
    d_.assign(static_cast<std::size_t>(n_) * n_, NEG);
    for (int s = 0; s < n_; ++s) row(s)[s] = 0;
}

template class Fixpoint<std::int32_t>;
template class Fixpoint<std::int64_t>;

}  // namespace misstep::dominance
