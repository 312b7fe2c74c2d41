#pragma once

#include <vector>

#include "fdr/successors.h"

namespace misstep {

// Which states are at least as good as others, as far as the description of the task alone shows it.
//
// A value that no precondition, no goal and no effect condition mentions is never needed: a plan that works with this
// value works with every other value of the variable. So let state s agree with state t on each variable that has a
// needed value in t. Then s is at least as good as t: every plan of t is a plan of s, at the same cost. In s, however, a
// conditional effect might fire that does not fire in t, so every value of a variable that conditions mention counts as
// needed.
class ValuePreorder {
   public:
    explicit ValuePreorder(const SuccessorGenerator &generator);

    bool is_needed(Fact fact) const { return needed_[task_.fact_id(fact)] != 0; }
    // The facts of this state that another state must share to be at least as good.
    std::vector<Fact> needed_facts(const int *state) const;
    // Whether every plan of `other` is a plan from `state`.
    bool at_least(const int *state, const int *other) const {
        for (int v = 0; v < task_.variable_count(); ++v)
            if (state[v] != other[v] && is_needed({v, other[v]})) return false;
        return true;
    }

    // The same test on packed states, for one target that is compared with many states. A packed target consists of the
    // words of the state and, behind them, a mask of the bits that must agree.
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
