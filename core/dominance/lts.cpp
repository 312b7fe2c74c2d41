#include "dominance/lts.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "dominance/groups.h"

namespace misstep::dominance {

Lts::Lts(const Factor &factor)
    : size_(factor.size), goal_(factor.goal), h_(factor.h), group_of_(label_groups(factor)), group_first_{0} {
    struct Flat {
        int group;
        Transition transition;
    };
    std::vector<Flat> all;
    for (std::size_t k = 0; k < factor.labels.size(); ++k) {
        labels_.push_back(factor.labels[k].label);
        if (group_of_[k] < groups()) continue;
        const Transitions &transitions = factor.labels[k].transitions;
        assert(!transitions.empty());  // dead labels were pruned
        int loops = 0;
        for (const Transition &t : transitions) {
            loops += t.from == t.to;
            all.push_back({group_of_[k], t});
        }
        by_group_.insert(by_group_.end(), transitions.begin(), transitions.end());
        group_first_.push_back(static_cast<int>(by_group_.size()));
        loops_everywhere_.push_back(loops == size_);
    }

    std::sort(all.begin(), all.end(), [](const Flat &a, const Flat &b) {
        return std::tuple(a.transition.from, a.group, a.transition.to) <
               std::tuple(b.transition.from, b.group, b.transition.to);
    });
    out_first_.assign(size_ + 1, 0);
    for (const Flat &flat : all) {
        ++out_first_[flat.transition.from + 1];
        out_.push_back({flat.group, flat.transition.to});
    }
    for (int s = 0; s < size_; ++s) out_first_[s + 1] += out_first_[s];

    std::sort(all.begin(), all.end(), [](const Flat &a, const Flat &b) {
        return std::tuple(a.transition.to, a.group, a.transition.from) <
               std::tuple(b.transition.to, b.group, b.transition.from);
    });
    in_first_.assign(size_ + 1, 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool fresh =
            i == 0 || all[i - 1].transition.to != all[i].transition.to || all[i - 1].group != all[i].group;
        if (fresh) {
            ++in_first_[all[i].transition.to + 1];
            in_.push_back({all[i].group, static_cast<int>(i), static_cast<int>(i)});
        }
        sources_.push_back(all[i].transition.from);
        ++in_.back().last;
    }
    for (int s = 0; s < size_; ++s) in_first_[s + 1] += in_first_[s];
}

}  // namespace misstep::dominance
