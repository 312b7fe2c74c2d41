#include "dominance/factoring.h"

#include <algorithm>
#include <optional>

#include "dominance/bisimulation.h"
#include "dominance/label_reduction.h"
#include "dominance/pruning.h"

namespace misstep::dominance {

namespace {

// The merge order of Draeger, Finkbeiner and Podelski: a pair of factors with a common label close to the goal in both.
class PairChoice {
   public:
    PairChoice(const Factoring &factoring, const FactoringOptions &options)
        : factors_(factoring.factors), options_(options) {
        ranks_.resize(factors_.size());
        for (std::size_t x = 0; x < factors_.size(); ++x)
            for (const LabelledTransitions &entry : factors_[x].labels) {
                Cost rank = INFINITE_COST;
                for (const Transition &t : entry.transitions) rank = std::min(rank, factors_[x].h[t.to]);
                ranks_[x].emplace_back(entry.label, rank);
            }
    }

    std::optional<std::pair<int, int>> best(Work &work) {
        std::optional<std::pair<int, int>> found, last;
        Cost lowest = INFINITE_COST;
        const std::vector<int> order = candidates();
        for (std::size_t a = 0; a < order.size(); ++a)
            for (std::size_t b = a + 1; b < order.size(); ++b) {
                if (work.spend(1 + ranks_[order[a]].size() + ranks_[order[b]].size())) return {};
                if (!admissible(order[a], order[b])) continue;
                last = {order[a], order[b]};
                const Cost weight = common_rank(order[a], order[b]);
                if (weight < lowest) {
                    lowest = weight;
                    found = last;
                }
            }
        return found ? found : last;
    }

   private:
    // Products come first, the latest one before the others. Products are at the end of the list, in order of creation.
    std::vector<int> candidates() const {
        std::vector<int> composite, atomic;
        for (int x = 0; x < static_cast<int>(factors_.size()); ++x)
            (factors_[x].variables.size() > 1 ? composite : atomic).push_back(x);
        std::reverse(composite.begin(), composite.end());
        composite.insert(composite.end(), atomic.begin(), atomic.end());
        return composite;
    }
    bool admissible(int x, int y) const {
        const Factor &left = factors_[x], &right = factors_[y];
        return (left.has_goal || right.has_goal) &&
               static_cast<std::int64_t>(left.size) * right.size <= options_.max_states &&
               product_transitions(left, right) <= options_.max_transitions;
    }
    Cost common_rank(int x, int y) const {
        Cost lowest = INFINITE_COST;
        auto a = ranks_[x].begin();
        auto b = ranks_[y].begin();
        while (a != ranks_[x].end() && b != ranks_[y].end()) {
            if (a->first < b->first) {
                ++a;
            } else if (b->first < a->first) {
                ++b;
            } else {
                lowest = std::min(lowest, std::max(a->second, b->second));
                ++a;
                ++b;
            }
        }
        return lowest;
    }

    const std::vector<Factor> &factors_;
    const FactoringOptions &options_;
    std::vector<std::vector<std::pair<int, Cost>>> ranks_;  // of the relevant labels, by label
};

// Pruning, label reduction and shrinking can each make the others possible again, so they are repeated.
void simplify(Factoring &factoring, const FactoringOptions &options, Work &work) {
    for (bool changed = true; changed;) {
        changed = false;
        prune(factoring, options.prune_unreachable);
        if (!factoring.solvable) return;
        if (options.reduce_labels) changed = reduce_labels(factoring, work) || changed;
        if (options.shrink)
            for (Factor &factor : factoring.factors) changed = shrink_by_bisimulation(factor) || changed;
    }
}

}  // namespace

Factoring make_factoring(const Task &task, const FactoringOptions &options, const Limits &limits, Limit &limit) {
    Work work(limits);
    Factoring result = atomic_factoring(task);
    simplify(result, options, work);
    while (options.merge && result.solvable && result.factors.size() > 1) {
        const auto pair = PairChoice(result, options).best(work);
        if (!pair) break;
        const auto [x, y] = *pair;
        work.spend(product_transitions(result.factors[x], result.factors[y]));
        Factor merged = product(result.factors[x], result.factors[y]);
        result.factors.erase(result.factors.begin() + std::max(x, y));
        result.factors.erase(result.factors.begin() + std::min(x, y));
        result.factors.push_back(std::move(merged));
        ++result.merges;
        simplify(result, options, work);
    }
    limit = work.limit();
    if (!result.solvable) return result;
    constexpr std::size_t FLAT_ENTRIES = 1 << 20;
    for (Factor &factor : result.factors) factor.lookup.flatten(task.domain_sizes(), FLAT_ENTRIES);
    return result;
}

}  // namespace misstep::dominance
