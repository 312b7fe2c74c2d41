#include "heuristics/relaxed_task.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/interrupt.h"

namespace misstep {

namespace {

struct Draft {
    std::vector<std::int32_t> preconditions;  // sorted
    std::vector<std::int32_t> effects;        // sorted
    std::int32_t cost;
    OperatorId parent;
};

std::vector<Draft> split_by_conditions(const Task &task) {
    std::vector<Draft> drafts;
    std::vector<Fact> facts;
    std::map<std::vector<std::int32_t>, std::vector<std::int32_t>> effects_of;
    for (OperatorId op = 0; op < task.operator_count(); ++op) {
        let_interrupt();
        effects_of.clear();
        const auto preconditions = task.preconditions(op);
        for (int i = 0; i < task.effect_count(op); ++i) {
            const Effect effect = task.effect(op, i);
            facts.assign(preconditions.begin(), preconditions.end());
            facts.insert(facts.end(), effect.conditions.begin(), effect.conditions.end());
            std::sort(facts.begin(), facts.end());
            facts.erase(std::unique(facts.begin(), facts.end()), facts.end());
            const bool contradictory = std::adjacent_find(facts.begin(), facts.end(), [](const Fact &a, const Fact &b) {
                                           return a.variable == b.variable;
                                       }) != facts.end();
            if (contradictory || std::binary_search(facts.begin(), facts.end(), effect.fact)) continue;
            std::vector<std::int32_t> ids;
            ids.reserve(facts.size());
            for (const Fact &fact : facts) ids.push_back(task.fact_id(fact));
            effects_of[std::move(ids)].push_back(task.fact_id(effect.fact));
        }
        for (auto &[ids, effects] : effects_of) {
            std::sort(effects.begin(), effects.end());
            effects.erase(std::unique(effects.begin(), effects.end()), effects.end());
            drafts.push_back({ids, std::move(effects), static_cast<std::int32_t>(task.cost(op)), op});
        }
    }
    return drafts;
}

// Numbers the sets of preconditions, and finds the numbers of all subsets of a set that occur. The hash is a sum
// over the facts, so that the hash of a subset is cheap; a collision only hides a subset (less is pruned).
class PreconditionSets {
   public:
    explicit PreconditionSets(const std::vector<Draft> &drafts) : drafts_(drafts) {
        for (int d = 0; d < static_cast<int>(drafts.size()); ++d) {
            std::uint64_t hash = 0;
            for (const std::int32_t fact : drafts[d].preconditions) hash += hash_of(fact);
            const auto [entry, is_new] = first_with_.try_emplace(hash, d);
            const bool same = drafts[entry->second].preconditions == drafts[d].preconditions;
            number_.push_back(same ? entry->second : d);
        }
    }

    // The number of a set is the first draft that has it.
    int number(int draft) const { return number_[draft]; }

    // The set itself is always in the result, all proper subsets only if there are not too many of them.
    void subsets(int draft, std::vector<int> &result) const {
        const auto &facts = drafts_[draft].preconditions;
        result.assign(1, number_[draft]);
        if (facts.size() > 6) return;
        const unsigned full = (1u << facts.size()) - 1;
        for (unsigned subset = 0; subset < full; ++subset) {
            std::uint64_t hash = 0;
            for (std::size_t i = 0; i < facts.size(); ++i)
                if (subset >> i & 1) hash += hash_of(facts[i]);
            const auto entry = first_with_.find(hash);
            if (entry == first_with_.end()) continue;
            const auto &found = drafts_[entry->second].preconditions;
            if (found.size() < facts.size() && std::includes(facts.begin(), facts.end(), found.begin(), found.end()))
                result.push_back(entry->second);
        }
    }

   private:
    static std::uint64_t hash_of(std::int32_t fact) {
        return fold_multiply(static_cast<std::uint64_t>(fact) + 0x9e3779b97f4a7c15ULL, 0xd6e8feb86659fd93ULL);
    }

    const std::vector<Draft> &drafts_;
    std::unordered_map<std::uint64_t, int> first_with_;
    std::vector<int> number_;
};

void drop_dominated_effects(std::vector<Draft> &drafts) {
    const PreconditionSets sets(drafts);
    const auto key = [](int set, std::int32_t fact) {
        return static_cast<std::uint64_t>(set) << 32 | static_cast<std::uint32_t>(fact);
    };
    using CostAndId = std::pair<std::int32_t, int>;
    std::unordered_map<std::uint64_t, CostAndId> cheapest;
    for (int d = 0; d < static_cast<int>(drafts.size()); ++d)
        for (const std::int32_t fact : drafts[d].effects) {
            const CostAndId mine{drafts[d].cost, d};
            const auto [entry, is_new] = cheapest.try_emplace(key(sets.number(d), fact), mine);
            entry->second = std::min(entry->second, mine);
        }
    std::vector<int> subsets;
    std::vector<std::vector<std::int32_t>> kept(drafts.size());
    for (int d = 0; d < static_cast<int>(drafts.size()); ++d) {
        sets.subsets(d, subsets);
        for (const std::int32_t fact : drafts[d].effects) {
            const bool dominated = std::any_of(subsets.begin(), subsets.end(), [&](int set) {
                const auto entry = cheapest.find(key(set, fact));
                if (entry == cheapest.end()) return false;
                const auto [cost, id] = entry->second;
                return set == sets.number(d) ? id != d : cost <= drafts[d].cost;
            });
            if (!dominated) kept[d].push_back(fact);
        }
    }
    for (std::size_t d = 0; d < drafts.size(); ++d) drafts[d].effects = std::move(kept[d]);
    std::erase_if(drafts, [](const Draft &draft) { return draft.effects.empty(); });
}

}  // namespace

RelaxedTask::RelaxedTask(const Task &task)
    : task_(task), fact_offsets_(task.fact_offsets().begin(), task.fact_offsets().end()) {
    task.refuse_axioms("the delete relaxation");
    std::vector<Draft> drafts = split_by_conditions(task);
    drop_dominated_effects(drafts);

    triggered_offsets_.assign(fact_count() + 2, 0);
    for (const Draft &draft : drafts) {
        const int op = static_cast<int>(operators_.size());
        if (draft.preconditions.size() > std::numeric_limits<std::uint16_t>::max())
            throw Unsupported("the delete relaxation takes up to 65535 preconditions, and operator (" +
                              task.operator_name(draft.parent) + ") has " + std::to_string(draft.preconditions.size()));
        operators_.push_back({static_cast<std::int32_t>(preconditions_.size()),
                              static_cast<std::int32_t>(effects_.size()), draft.cost, draft.parent});
        preconditions_.insert(preconditions_.end(), draft.preconditions.begin(), draft.preconditions.end());
        effects_.insert(effects_.end(), draft.effects.begin(), draft.effects.end());
        precondition_counts_.push_back(static_cast<std::uint16_t>(draft.preconditions.size()));
        if (draft.preconditions.empty()) without_preconditions_.push_back(op);
        has_zero_cost_ |= draft.cost == 0;
        for (const std::int32_t fact : draft.preconditions) ++triggered_offsets_[fact + 2];
    }
    operators_.push_back(
        {static_cast<std::int32_t>(preconditions_.size()), static_cast<std::int32_t>(effects_.size()), 0, NO_OPERATOR});

    // The offsets are shifted by one position and serve as insertion points. When all is inserted, they are in place.
    for (std::size_t f = 2; f < triggered_offsets_.size(); ++f) triggered_offsets_[f] += triggered_offsets_[f - 1];
    triggered_.resize(preconditions_.size());
    for (int op = 0; op < operator_count(); ++op)
        for (const std::int32_t fact : preconditions(op)) triggered_[triggered_offsets_[fact + 1]++] = op;
    triggered_offsets_.pop_back();
}

std::size_t RelaxedTask::bytes() const {
    return sizeof(*this) + operators_.capacity() * sizeof(Operator) +
           (fact_offsets_.capacity() + preconditions_.capacity() + effects_.capacity() + triggered_offsets_.capacity() +
            triggered_.capacity() + without_preconditions_.capacity()) *
               sizeof(std::int32_t) +
           precondition_counts_.capacity() * sizeof(std::uint16_t);
}

}  // namespace misstep
