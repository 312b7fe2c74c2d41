#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "dominance/factor.h"

namespace misstep::dominance {

// The group of each relevant label of a factor: labels with equal sets of transitions have the same group. Groups are numbered
// in order of first use.
inline std::vector<int> label_groups(const Factor &factor) {
    std::vector<int> groups;
    std::vector<const Transitions *> first_of;
    std::unordered_multimap<std::uint64_t, int> by_hash;
    for (const LabelledTransitions &entry : factor.labels) {
        std::uint64_t hash = entry.transitions.size();
        for (const Transition &t : entry.transitions) {
            const std::uint64_t word = static_cast<std::uint64_t>(t.from) << 32 | static_cast<std::uint32_t>(t.to);
            hash = fold_multiply(hash ^ word, 0xd6e8feb86659fd93ULL) + 0x9e3779b97f4a7c15ULL;
        }
        int group = -1;
        const auto [begin, end] = by_hash.equal_range(hash);
        for (auto i = begin; i != end && group < 0; ++i)
            if (*first_of[i->second] == entry.transitions) group = i->second;
        if (group < 0) {
            group = static_cast<int>(first_of.size());
            first_of.push_back(&entry.transitions);
            by_hash.emplace(hash, group);
        }
        groups.push_back(group);
    }
    return groups;
}

}  // namespace misstep::dominance
