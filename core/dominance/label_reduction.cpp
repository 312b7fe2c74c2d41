#include "dominance/label_reduction.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "dominance/groups.h"

namespace misstep::dominance {

namespace {

constexpr std::uint64_t STEPS_A_LABEL = 32;  // sorting labels takes about that many times longer than reading them

class Reduction {
   public:
    explicit Reduction(Factoring &factoring) : factoring_(factoring), profiles_(factoring.costs.size()) {
        for (int i = 0; i < static_cast<int>(factoring.factors.size()); ++i) add_to_profiles(i);
    }

    std::uint64_t labels() const { return profiles_.size(); }

    bool reduce_for(int i) {
        // Labels are sorted by hash, and labels with equal hashes are then compared exactly.
        struct Key {
            Cost cost;
            std::uint64_t hash;
            int label;
        };
        std::vector<Key> keys;
        for (int label = 0; label < static_cast<int>(profiles_.size()); ++label)
            if (!profiles_[label].empty())  // otherwise it is irrelevant everywhere, or has been merged
                keys.push_back({factoring_.costs[label], hash_without(label, i), label});
        std::sort(keys.begin(), keys.end(), [](const Key &a, const Key &b) {
            return std::tuple(a.cost, a.hash, a.label) < std::tuple(b.cost, b.hash, b.label);
        });
        bool changed = false;
        for (std::size_t first = 0, last = 0; first < keys.size(); first = last) {
            std::vector<int> run;
            for (; last < keys.size() && keys[last].cost == keys[first].cost && keys[last].hash == keys[first].hash;
                 ++last)
                run.push_back(keys[last].label);
            while (run.size() > 1) {
                std::vector<int> same;
                std::erase_if(run, [&, front = run[0]](int label) {
                    if (!equal_without(front, label, i)) return false;
                    same.push_back(label);
                    return true;
                });
                if (same.size() < 2) continue;
                changed = true;
                unite(factoring_.factors[i], same);
                for (std::size_t k = 1; k < same.size(); ++k) profiles_[same[k]].clear();
            }
        }
        if (!changed) return false;
        for (Factor &factor : factoring_.factors)
            std::erase_if(factor.labels,
                          [&](const LabelledTransitions &entry) { return profiles_[entry.label].empty(); });
        drop_loops(factoring_.factors[i]);
        for (Profile &profile : profiles_) std::erase_if(profile, [i](const Use &use) { return use.factor == i; });
        add_to_profiles(i);
        return true;
    }

   private:
    // Where a label is relevant, and with which transitions; by factor.
    struct Use {
        int factor;
        int group;
        friend bool operator==(const Use &, const Use &) = default;
    };
    using Profile = std::vector<Use>;

    void add_to_profiles(int i) {
        const Factor &factor = factoring_.factors[i];
        const std::vector<int> groups = label_groups(factor);
        for (std::size_t k = 0; k < groups.size(); ++k) {
            Profile &profile = profiles_[factor.labels[k].label];
            const auto place =
                std::find_if(profile.begin(), profile.end(), [i](const Use &use) { return use.factor > i; });
            profile.insert(place, {i, groups[k]});
        }
    }
    std::uint64_t hash_without(int label, int i) const {
        std::uint64_t hash = 1;
        for (const Use &use : profiles_[label])
            if (use.factor != i)
                hash = fold_multiply(hash ^ (static_cast<std::uint64_t>(use.factor) << 32 |
                                             static_cast<std::uint32_t>(use.group)),
                                     0xd6e8feb86659fd93ULL) +
                       0x9e3779b97f4a7c15ULL;
        return hash;
    }
    bool equal_without(int a, int b, int i) const {
        Profile left = profiles_[a], right = profiles_[b];
        std::erase_if(left, [i](const Use &use) { return use.factor == i; });
        std::erase_if(right, [i](const Use &use) { return use.factor == i; });
        return left == right;
    }

    // Gives the first label of the class the transitions of all of them.
    static void unite(Factor &factor, const std::vector<int> &labels) {
        Transitions all;
        for (int label : labels) {
            if (const Transitions *found = factor.find(label)) {
                all.insert(all.end(), found->begin(), found->end());
            } else {
                for (int s = 0; s < factor.size; ++s) all.push_back({s, s});
            }
        }
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        const auto place =
            std::lower_bound(factor.labels.begin(), factor.labels.end(), labels[0],
                             [](const LabelledTransitions &entry, int wanted) { return entry.label < wanted; });
        if (place != factor.labels.end() && place->label == labels[0]) place->transitions = std::move(all);
        else factor.labels.insert(place, {labels[0], std::move(all)});
    }

    Factoring &factoring_;
    std::vector<Profile> profiles_;  // by label
};

}  // namespace

bool reduce_labels(Factoring &factoring, Work &work) {
    const int count = static_cast<int>(factoring.factors.size());
    Reduction reduction(factoring);
    bool changed = false;
    for (int quiet = 0, i = 0; quiet < count; i = (i + 1) % count) {
        if (work.spend(STEPS_A_LABEL * reduction.labels())) break;
        const bool now = reduction.reduce_for(i);
        changed = changed || now;
        quiet = now ? 0 : quiet + 1;
    }
    return changed;
}

}  // namespace misstep::dominance
