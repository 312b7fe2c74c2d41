#include "dominance/label_weights.h"

#include <algorithm>
#include <map>
#include <set>

namespace misstep::dominance {

namespace {

// Sums stay far from the limits of 64 bits: a lower sum becomes -infinity, and a higher one is cut off. Both only lower D.
constexpr Cost SUM_LIMIT = Cost{1} << 60;

}  // namespace

LabelWeights::LabelWeights(int factor, const Lts &lts, const std::vector<std::vector<Use>> &uses,
                           const std::vector<Cost> &costs, const std::vector<LabelDominance> &dominance)
    : groups_(lts.groups()), responses_(lts.groups()) {
    std::map<std::vector<Term>, int> known;
    std::set<int> neighbours;
    std::vector<std::map<int, Cost>> cheapest(lts.groups());  // by group and class
    for (std::size_t k = 0; k < lts.labels().size(); ++k) {
        const int label = lts.labels()[k];
        std::vector<Term> terms;
        for (const Use &use : uses[label])
            if (use.factor != factor) {
                terms.push_back({use.factor, dominance[use.factor].index(use.group)});
                neighbours.insert(use.factor);
            }
        const auto [place, fresh] = known.emplace(terms, classes());
        if (fresh) terms_.push_back(std::move(terms));
        class_of_.push_back(place->second);
        const auto [entry, first] = cheapest[lts.group_of()[k]].emplace(place->second, costs[label]);
        if (!first) entry->second = std::min(entry->second, costs[label]);
    }
    for (int g = 0; g < groups_; ++g)
        for (const auto &[label_class, cost] : cheapest[g]) responses_[g].push_back({label_class, cost});
    neighbours_.assign(neighbours.begin(), neighbours.end());
}

std::uint64_t LabelWeights::work() const {
    std::uint64_t responses = 0;
    for (const auto &list : responses_) responses += list.size();
    const std::uint64_t n = terms_.size();
    return n * (n + responses + groups_);
}

Cost LabelWeights::weight(const std::vector<Term> &from, const std::vector<Term> &to,
                          const std::vector<LabelDominance> &dominance) {
    Cost sum = 0;
    auto a = from.begin();
    auto b = to.begin();
    while (a != from.end() || b != to.end()) {
        Cost value = 0;
        if (b == to.end() || (a != from.end() && a->factor < b->factor)) {
            value = dominance[a->factor].to_nothing(a->index);
            ++a;
        } else if (a == from.end() || b->factor < a->factor) {
            value = dominance[b->factor].from_nothing(b->index);
            ++b;
        } else {
            value = dominance[a->factor].between(a->index, b->index);
            ++a;
            ++b;
        }
        if (value == MINUS_INFINITY) return MINUS_INFINITY;
        sum = std::min(sum + value, SUM_LIMIT);
        if (sum < -SUM_LIMIT) {
            saturated_ = true;
            return MINUS_INFINITY;
        }
    }
    return sum;
}

void LabelWeights::update(const std::vector<LabelDominance> &dominance) {
    const std::size_t n = terms_.size();
    answers_.assign(n * groups_, MINUS_INFINITY);
    nothing_.assign(n, MINUS_INFINITY);
    std::vector<Cost> weights(n);
    const std::vector<Term> no_terms;
    for (std::size_t from = 0; from < n; ++from) {
        nothing_[from] = weight(terms_[from], no_terms, dominance);
        for (std::size_t to = 0; to < n; ++to) weights[to] = weight(terms_[from], terms_[to], dominance);
        for (int g = 0; g < groups_; ++g) {
            Cost best = MINUS_INFINITY;
            for (const Response &response : responses_[g])
                if (weights[response.label_class] != MINUS_INFINITY)
                    best = std::max(best, weights[response.label_class] - response.cost);
            answers_[from * groups_ + g] = best;
        }
    }
}

LabelSystem::LabelSystem(const std::vector<Lts> &factors, const std::vector<Cost> &costs, std::uint64_t max_cells)
    : uses(costs.size()) {
    const int count = static_cast<int>(factors.size());
    for (int i = 0; i < count; ++i)
        for (std::size_t k = 0; k < factors[i].labels().size(); ++k)
            uses[factors[i].labels()[k]].push_back({i, factors[i].group_of()[k]});
    std::vector<char> shared(costs.size());
    for (std::size_t label = 0; label < costs.size(); ++label) shared[label] = uses[label].size() > 1;
    for (const Lts &lts : factors) dominance.emplace_back(lts, shared, max_cells);
    for (int i = 0; i < count; ++i) weights.emplace_back(i, factors[i], uses, costs, dominance);
}

}  // namespace misstep::dominance
