#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "dominance/label_weights.h"
#include "dominance/tau.h"
#include "dominance/value_queue.h"

namespace misstep::dominance {

// D of one factor, which decreases to the greatest solution of its inequalities, for fixed weights of the labels.
//
// The definition refers to single pairs (s, t). Here whole rows are computed at once. A challenge (a class of labels with a
// target s') gives one vector: for each t, the value of its best answer. It depends on row s' alone, and bounds the rows of
// all states with that transition. So it is computed again only when row s' or the weights have changed.
//
// A row is closed under internal moves: D(s', t) >= D(s', u) - tau(t, u). This holds at the start, because tau(t, u) is at
// least the difference of the goal distances, and the operations below preserve it. Hence doing nothing after internal moves
// is never better than doing nothing at once, and the same holds for answers by internal moves alone. Only truncation breaks
// this property; from the first truncated value on, rows are closed explicitly (`cut`).
//
// V is int32 or int64. All finite values are within +-LIMIT, so the sums of a few numbers below stay in range, and a sum
// below CERTAIN contains NEG.
template <class V>
class Fixpoint {
   public:
    static constexpr V LIMIT = V{1} << (std::numeric_limits<V>::digits - 5);
    static constexpr V NEG = -(V{1} << (std::numeric_limits<V>::digits - 1));
    static constexpr V CERTAIN = NEG / 2;

    struct Options {
        bool strict;
        V truncate;  // at most LIMIT
        std::uint32_t max_drops;  // a row that is lowered more often is assumed to fall for ever
        std::uint64_t max_steps;
    };
    Fixpoint(const Lts &lts, const Tau &tau, const Options &options);

    int size() const { return n_; }
    Cost at(int dominated, int dominating) const {
        const V v = d_[static_cast<std::size_t>(dominated) * n_ + dominating];
        return v <= CERTAIN ? MINUS_INFINITY : static_cast<Cost>(v);
    }
    const std::vector<V> &values() const { return d_; }
    bool cut() const { return cut_; }
    std::uint64_t steps() const { return steps_; }
    std::uint32_t drops() const { return drops_.empty() ? 0 : *std::max_element(drops_.begin(), drops_.end()); }

    void start(std::uint64_t steps_so_far);
    // Sets new weights, and marks the groups of labels for which they have changed.
    void set_weights(const LabelWeights &weights, const std::vector<Cost> &costs);
    // Runs until nothing changes. False: the budget or `stop` ended it; the values are still too high and must not be used.
    bool run(const std::atomic<bool> &stop);
    // The bound by internal moves alone, which is below the solution.
    void fall_back();

   private:
    struct Challenge {
        int label_class;
        V cost;
        V tau_cost;  // NEG: no internal move
        friend bool operator==(const Challenge &, const Challenge &) = default;
    };
    V *row(int s) { return d_.data() + static_cast<std::size_t>(s) * n_; }
    const V *row(int s) const { return d_.data() + static_cast<std::size_t>(s) * n_; }
    const V *returning(int s) const { return minus_tau_.data() + static_cast<std::size_t>(s) * n_; }
    const V *answers(int label_class) const {
        return answers_.data() + static_cast<std::size_t>(label_class) * lts_.groups();
    }

    V clamped(Cost value);
    bool covers(const Challenge &smaller, const Challenge &larger) const;
    void prune_challenges(std::vector<Challenge> &list) const;
    bool needed(std::span<const int> sources);
    bool short_of(const std::vector<V> &wanted, const V *values) const;
    void close(V *values);  // under internal moves
    void answer(const Challenge &challenge, const V *target, const V *base, const std::vector<V> &wanted);
    bool lower_rows(const Lts::Arrival &arrival, int target);
    bool lower_row(int s);
    void enqueue(int s);

    const Lts &lts_;
    const Tau &tau_;
    const Options options_;
    const int n_;
    std::vector<V> d_;
    std::vector<V> minus_tau_;  // row s: -tau(t, s) for all t; empty if there are no internal moves
    std::vector<std::vector<Challenge>> challenges_;  // by group
    std::vector<std::vector<Challenge>> all_challenges_;
    std::vector<V> answers_;   // by class and group, without the challenge's cost; NEG: none
    std::vector<V> nothing_;   // by class
    std::vector<char> stale_;  // groups whose weights changed
    bool any_stale_ = true;
    std::vector<int> queue_;
    std::vector<char> queued_;
    std::vector<std::uint32_t> drops_;  // how often each row was lowered
    bool cut_ = false;
    std::uint64_t steps_ = 0;

    struct Edge {
        int from;
        V cost;
    };
    std::vector<Edge> edges_;  // as in Tau, in this type
    std::vector<V> need_, wanted_, best_, all_, base_;  // scratch rows
    ValueQueue<V> queue_of_values_;
    std::vector<int> improved_;
};

extern template class Fixpoint<std::int32_t>;
extern template class Fixpoint<std::int64_t>;

}  // namespace misstep::dominance
