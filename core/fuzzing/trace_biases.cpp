#include "fuzzing/trace_biases.h"

#include <algorithm>
#include <limits>

namespace misstep {

namespace {
constexpr double UNBOUNDED = std::numeric_limits<double>::infinity();
constexpr Cost NONE = std::numeric_limits<Cost>::min();  // no pair counted so far
constexpr std::size_t MAX_KNOWN = 1 << 20;

double to_value(Cost best) { return best == NONE ? -UNBOUNDED : static_cast<double>(best); }
}  // namespace

TraceBias::TraceBias(PolicyGraph &graph, Kind kind, Estimate *estimate, bool prune)
    : graph_(graph), kind_(kind), estimate_(estimate), prune_(prune) {
    for (OperatorId op = 0; op < graph.task().operator_count(); ++op)
        most_effects_ = std::max<std::int64_t>(most_effects_, graph.task().effect_count(op));
}

double TraceBias::value(StateId start, std::uint32_t steps) {
    if (!prune_) return evaluate(start, steps);
    const std::uint64_t key = std::uint64_t{start} << 32 | steps;
    auto found = known_.find(key);
    if (found == known_.end()) {
        if (known_.size() >= MAX_KNOWN) known_.clear();
        found = known_.emplace(key, evaluate_watched(start, steps)).first;
    }
    cut_values_ += found->second.cut;
    return found->second.value;
}

TraceBias::Value TraceBias::evaluate_watched(StateId start, std::uint32_t steps) {
    if (estimate_ == nullptr) return {evaluate(start, steps), false};
    estimate_->forget_cuts();
    const double value = evaluate(start, steps);
    return {value, estimate_->was_cut()};
}

double TraceBias::evaluate(StateId start, std::uint32_t steps) {
    states_.assign(1, start);
    paid_.assign(1, 0);
    for (std::uint32_t k = 0; k < steps; ++k) {
        paid_.push_back(paid_.back() + graph_.task().cost(graph_.decision(states_.back())));
        states_.push_back(graph_.successor(states_.back()));
    }
    if (kind_ == Kind::surface) return surface();
    if (steps == 0) return -UNBOUNDED;
    if (kind_ == Kind::cost) return static_cast<double>(paid_.back());
    const bool backward = kind_ == Kind::loop;
    if (!prune_) return over_all_pairs(backward);
    // P24, Proposition 2: with h* the whole run has the largest detour.
    if (!backward && estimate_->exact())
        return static_cast<double>(paid_.back() - estimate_->between(states_.front(), states_.back()));
    return over_pairs(backward);
}

Cost TraceBias::between(bool backward, std::size_t i, std::size_t j) {
    ++pairs_evaluated_;
    return backward ? estimate_->between(states_[j], states_[i]) : estimate_->between(states_[i], states_[j]);
}

double TraceBias::over_all_pairs(bool backward) {
    Cost best = NONE;
    for (std::size_t i = 0; i < states_.size(); ++i)
        for (std::size_t j = i + 1; j < states_.size(); ++j) {
            const Cost h = between(backward, i, j);
            if (h != INFINITE_COST) best = std::max(best, paid_[j] - paid_[i] - h);
        }
    return to_value(best);
}

// A lower bound: variables that differ have to change, and one operator changes at most `most_effects_` of them. This also
// holds for relaxed plans, in which an operator counts once however many of its effects are used.
Cost TraceBias::least_between(std::size_t i, std::size_t j) const {
    const std::size_t width = graph_.task().variable_count();
    const int *a = rows_.data() + i * width, *b = rows_.data() + j * width;
    std::int64_t different = 0;
    for (std::size_t v = 0; v < width; ++v) different += a[v] != b[v];
    return graph_.task().min_cost() * ((different + most_effects_ - 1) / most_effects_);
}

// Visits pairs by decreasing C(i, j). Distances are not negative, so no better value follows once C(i, j) is not greater
// than the best value found. A source is explored only when a pair needs it. The pairs of one source are already sorted, so
// a heap with one pair of each source is enough.
double TraceBias::over_pairs(bool backward) {
    const std::size_t n = states_.size() - 1;
    const std::size_t width = graph_.task().variable_count();
    rows_.resize(states_.size() * width);
    for (std::size_t k = 0; k <= n; ++k) graph_.values(states_[k], rows_.data() + k * width);

    struct Pair {
        Cost paid;
        std::size_t i, j;
        bool operator<(const Pair &other) const { return paid < other.paid; }
    };
    const auto pair = [&](std::size_t i, std::size_t j) { return Pair{paid_[j] - paid_[i], i, j}; };
    std::vector<Pair> heap;
    for (std::size_t k = 0; k < n; ++k) heap.push_back(backward ? pair(0, k + 1) : pair(k, n));
    std::make_heap(heap.begin(), heap.end());

    Cost best = NONE;
    while (!heap.empty() && heap.front().paid > best) {
        std::pop_heap(heap.begin(), heap.end());
        const auto [paid, i, j] = heap.back();
        heap.pop_back();
        if (i + 1 < j) {
            heap.push_back(backward ? pair(i + 1, j) : pair(i, j - 1));
            std::push_heap(heap.begin(), heap.end());
        }
        if (best != NONE && paid - least_between(i, j) <= best) continue;
        const Cost h = between(backward, i, j);
        if (h != INFINITE_COST) best = std::max(best, paid - h);
    }
    return to_value(best);
}

// With phi_k = C(0, k) + h(s_k) the value is the greatest phi_j - phi_i: one pass with the least phi so far.
double TraceBias::surface() {
    const Cost first = estimate_->to_goal(states_.front());
    if (first == INFINITE_COST) return -UNBOUNDED;
    Cost best = NONE;
    Cost least = first;
    // P24, Proposition 4: with h* the whole run has the largest value, and every state after a dead end is a dead end.
    const std::size_t next = prune_ && estimate_->exact() && states_.size() > 1 ? states_.size() - 1 : 1;
    for (std::size_t k = next; k < states_.size(); ++k) {
        const Cost h = estimate_->to_goal(states_[k]);
        if (h == INFINITE_COST) return UNBOUNDED;
        const Cost phi = paid_[k] + h;
        best = std::max(best, phi - least);
        least = std::min(least, phi);
    }
    return to_value(best);
}

}  // namespace misstep
