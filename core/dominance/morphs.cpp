#include "dominance/morphs.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace misstep::dominance {

namespace {

bool better(const Morph &a, const Morph &b) { return a.value != b.value ? a.value > b.value : a.values < b.values; }

}  // namespace

Morphs::Morphs(const Function &function) : function_(function) {
    for (const Simulation &factoring : function.factorings()) {
        auto &own = representatives_.emplace_back();
        for (const FactorTable &factor : factoring.factors)
            own.push_back(factor.lookup.representatives(factor.table.size()));
    }
}

std::vector<Morph> Morphs::single(const int *dominating) const {
    std::vector<Morph> result;
    const std::vector<int> &sizes = function_.domain_sizes();
    std::vector<int> values(dominating, dominating + sizes.size());
    for (std::size_t v = 0; v < sizes.size(); ++v) {
        for (int x = 0; x < sizes[v]; ++x) {
            if (x == dominating[v]) continue;
            values[v] = x;
            const Cost value = function_.value(values.data(), dominating);
            if (value != MINUS_INFINITY) result.push_back({values, value});
        }
        values[v] = dominating[v];
    }
    std::stable_sort(result.begin(), result.end(), [](const Morph &a, const Morph &b) { return a.value > b.value; });
    return result;
}

std::vector<Morph> Morphs::best(const int *dominating, std::size_t count) const {
    std::vector<Morph> found;
    for (std::size_t f = 0; f < representatives_.size(); ++f) best_of(static_cast<int>(f), dominating, count, found);
    // The best value of a state may come from another factoring than the one that found the state.
    for (Morph &morph : found) morph.value = function_.value(morph.values.data(), dominating);
    std::sort(found.begin(), found.end(), better);
    found.erase(
        std::unique(found.begin(), found.end(), [](const Morph &a, const Morph &b) { return a.values == b.values; }),
        found.end());
    if (found.size() > count) found.resize(count);
    return found;
}

// Finds the best sums of one entry from each of several sorted lists. A choice is a position in each list. Its successors advance
// by one position in the last list that has been advanced, or in a later one. So each choice is generated once, and never before a
// better one.
void Morphs::best_of(int f, const int *dominating, std::size_t count, std::vector<Morph> &found) const {
    const std::vector<FactorTable> &factors = function_.factorings()[f].factors;
    std::vector<int> ids(factors.size());
    if (!function_.abstract(f, dominating, ids.data())) return;
    struct Option {
        Cost value;
        int id;
    };
    std::vector<std::vector<Option>> lists(factors.size());
    Cost top = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        for (int x = 0; x < factors[i].table.size(); ++x)
            if (const Cost value = factors[i].table.at(x, ids[i]); value != MINUS_INFINITY)
                lists[i].push_back({value, x});
        std::stable_sort(lists[i].begin(), lists[i].end(),
                         [](const Option &a, const Option &b) { return a.value > b.value; });
        top += lists[i][0].value;  // no list is empty, since the state itself is in it
    }
    struct Choice {
        Cost value;
        std::int64_t serial;
        std::size_t last;
        std::vector<int> places;
        bool operator<(const Choice &other) const {
            return std::tuple(value, -serial) < std::tuple(other.value, -other.serial);
        }
    };
    std::priority_queue<Choice> queue;
    std::int64_t serial = 0;
    queue.push({top, serial++, 0, std::vector<int>(factors.size(), 0)});
    std::size_t taken = 0;
    while (!queue.empty() && taken < count) {
        const Choice choice = queue.top();
        queue.pop();
        std::vector<int> values(dominating, dominating + function_.domain_sizes().size());
        bool same = true;
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const int id = lists[i][choice.places[i]].id;
            if (id == ids[i]) continue;
            same = false;
            for (const Fact &fact : representatives_[f][i][id]) values[fact.variable] = fact.value;
        }
        if (!same) {
            found.push_back({std::move(values), choice.value});
            ++taken;
        }
        for (std::size_t i = choice.last; i < factors.size(); ++i) {
            const int place = choice.places[i];
            if (place + 1 >= static_cast<int>(lists[i].size())) continue;
            Choice next{choice.value - lists[i][place].value + lists[i][place + 1].value, serial++, i, choice.places};
            ++next.places[i];
            queue.push(std::move(next));
        }
    }
}

}  // namespace misstep::dominance
