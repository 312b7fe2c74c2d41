#pragma once

#include <vector>

#include "fdr/successors.h"

namespace misstep {

// Which states are at least as good as others, seen from the text of the task alone.
//
// A value that no precondition, no goal and no effect condition mentions is never needed: a plan that works while the
// variable has it works with any other value too. So a state that agrees with another one wherever that one has a needed
// value is at least as good: every plan of the other state is a plan from it, at the same cost. A conditional effect can
// also fire where it should not, so every value of a variable that conditions mention counts as needed.
class ValuePreorder {
   public:
    explicit ValuePreorder(const SuccessorGenerator &generator);

    bool is_needed(Fact fact) const { return needed_[task_.fact_id(fact)] != 0; }
    // The facts that a state at least as good as this one must share.
    std::vector<Fact> needed_facts(const int *state) const;
    // Whether every plan of `other` is a plan from `state`.
    bool at_least(const int *state, const int *other) const {
        for (int v = 0; v < task_.variable_count(); ++v)
            if (state[v] != other[v] && is_needed({v, other[v]})) return false;
        return true;
    }

    // The same on packed states, for one that is compared with many: its words, and behind them the bits that matter.
    void pack_target(const int *state, std::uint64_t *target) const;
    int target_words() const { return 2 * packer_.words(); }
    bool reaches(const std::uint64_t *state, const std::uint64_t *target) const {
        for (int w = 0; w < packer_.words(); ++w)
            if (((state[w] ^ target[w]) & target[packer_.words() + w]) != 0) return false;
        return true;
    }

   private:
    const Task &task_;
    const StatePacker &packer_;
    std::vector<char> needed_;  // by fact id
};

}  // namespace misstep
