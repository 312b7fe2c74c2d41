#pragma once

#include <vector>

#include "base/packer.h"
#include "fdr/match_tree.h"
#include "fdr/task.h"

namespace misstep {

// Applicable operators and their results, on packed and on plain states.
class SuccessorGenerator {
   public:
    explicit SuccessorGenerator(const Task &task);

    const Task &task() const { return task_; }
    const StatePacker &packer() const { return packer_; }

    template <class Values, class Emit>
    void for_each_applicable(const Values &values, Emit &&emit) const {
        tree_.match(values, emit);
    }
    // In increasing order, which is also the order that users see: "the first applicable operator" is the lowest id.
    void applicable(const int *values, std::vector<OperatorId> &result) const;

    // Applies an operator to a packed state. `to` must not be `from`.
    void apply(OperatorId op, const std::uint64_t *from, std::uint64_t *to) const {
        for (int w = 0; w < packer_.words(); ++w) to[w] = from[w];
        if (conditional_[op]) return apply_conditional(op, from, to);
        for (int i = write_offsets_[op]; i < write_offsets_[op + 1]; ++i) {
            const Write &write = writes_[i];
            to[write.word] = (to[write.word] & write.keep) | write.bits;
        }
    }
    bool is_goal(const std::uint64_t *state) const {
        for (const Write &test : goal_)
            if ((state[test.word] & ~test.keep) != test.bits) return false;
        return true;
    }
    std::size_t bytes() const { return tree_.bytes() + writes_.capacity() * sizeof(Write); }

   private:
    // All assignments to the variables of one word at once: word = (word & keep) | bits.
    struct Write {
        std::uint64_t keep;
        std::uint64_t bits;
        int word;
    };
    void append_writes(std::span<const Fact> facts, std::vector<Write> &writes) const;
    void apply_conditional(OperatorId op, const std::uint64_t *from, std::uint64_t *to) const;

    const Task &task_;
    StatePacker packer_;
    MatchTree tree_;
    std::vector<Write> writes_;
    std::vector<int> write_offsets_;
    std::vector<char> conditional_;
    std::vector<Write> goal_;
};

}  // namespace misstep
