#include "dominance/label_reduction.h"

#include <algorithm>
#include <map>
#include <utility>

#include "dominance/groups.h"

namespace misstep::dominance {

namespace {

// Where a label is relevant, and with which transitions: pairs of factor and group, by factor.
using Profile = std::vector<std::pair<int, int>>;

Profile without(const Profile &profile, int factor) {
    Profile result;
    for (const auto &use : profile)
        if (use.first != factor) result.push_back(use);
    return result;
}

std::vector<Profile> profiles(const Factoring &factoring) {
    std::vector<Profile> result(factoring.costs.size());
    for (std::size_t i = 0; i < factoring.factors.size(); ++i) {
        const Factor &factor = factoring.factors[i];
        const std::vector<int> groups = label_groups(factor);
        for (std::size_t k = 0; k < groups.size(); ++k)
            result[factor.labels[k].label].emplace_back(static_cast<int>(i), groups[k]);
    }
    return result;
}

Transitions loops(int size) {
    Transitions result;
    for (int s = 0; s < size; ++s) result.push_back({s, s});
    return result;
}

// Gives the first label of the class the transitions of all of them.
void unite(Factor &factor, const std::vector<int> &labels) {
    Transitions all;
    for (int label : labels) {
        const Transitions *found = factor.find(label);
        const Transitions added = found ? *found : loops(factor.size);
        all.insert(all.end(), added.begin(), added.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    const auto place = std::lower_bound(factor.labels.begin(), factor.labels.end(), labels[0],
                                        [](const LabelledTransitions &entry, int wanted) { return entry.label < wanted; });
    if (place != factor.labels.end() && place->label == labels[0])
        place->transitions = std::move(all);
    else
        factor.labels.insert(place, {labels[0], std::move(all)});
}

bool reduce_for(Factoring &factoring, int i) {
    const std::vector<Profile> all = profiles(factoring);
    std::map<std::pair<Cost, Profile>, std::vector<int>> classes;
    for (std::size_t label = 0; label < all.size(); ++label)
        if (!all[label].empty())  // else it is irrelevant everywhere, or gone
            classes[{factoring.costs[label], without(all[label], i)}].push_back(static_cast<int>(label));
    std::vector<char> gone(all.size(), 0);
    bool changed = false;
    for (const auto &[key, labels] : classes) {
        if (labels.size() < 2) continue;
        changed = true;
        unite(factoring.factors[i], labels);
        for (std::size_t k = 1; k < labels.size(); ++k) gone[labels[k]] = 1;
    }
    if (!changed) return false;
    for (Factor &factor : factoring.factors)
        std::erase_if(factor.labels, [&](const LabelledTransitions &entry) { return gone[entry.label] != 0; });
    drop_loops(factoring.factors[i]);
    return true;
}

}  // namespace

bool reduce_labels(Factoring &factoring) {
    const int count = static_cast<int>(factoring.factors.size());
    bool changed = false;
    for (int quiet = 0, i = 0; quiet < count; i = (i + 1) % count) {
        const bool now = reduce_for(factoring, i);
        changed = changed || now;
        quiet = now ? 0 : quiet + 1;
    }
    return changed;
}

}  // namespace misstep::dominance
