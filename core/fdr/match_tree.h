#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/packer.h"
#include "fdr/task.h"

namespace misstep {

// Two views of a state that the tree can read.
struct PlainValues {
    const int *values;
    int operator[](int variable) const { return values[variable]; }
};
struct PackedValues {
    const StatePacker &packer;
    const std::uint64_t *state;
    int operator[](int variable) const { return packer.get(state, variable); }
};

// A decision tree over partial assignments: finds all those that hold in a state without testing each one.
//
// The successor generator uses it with the preconditions of operators, the predecessor generator with what must hold
// after an operator. The tree lies in one array of integers. A node is
//     n, id_1 .. id_n, variable, any, child of value 0, child of value 1, ...     (dense)
//     n, id_1 .. id_n, ~variable, any, k, value_1, child_1, .. value_k, child_k   (sparse: few values tested)
//     n, id_1 .. id_n, END                                                        (leaf)
// where the ids are the assignments that are complete at this node, `any` is the child of those that do not mention the
// variable, and a child is the position of its node, 0 for none.
class MatchTree {
   public:
    MatchTree(std::span<const int> domain_sizes, const std::vector<std::vector<Fact>> &assignments);

    // Calls emit(id) for every assignment that holds, in an order that depends on the tree only.
    template <class Values, class Emit>
    void match(const Values &values, Emit &&emit) const {
        match_from(ROOT, values, emit);
    }

    std::size_t bytes() const { return code_.capacity() * sizeof(std::int32_t); }

   private:
    static constexpr std::int32_t END = std::numeric_limits<std::int32_t>::max();
    static constexpr std::int32_t ROOT = 1;  // position 0 stands for "no child"

    // Descends along the matching values in the loop and recurses only where both branches are open, so the
    // recursion is at most as deep as the number of variables.
    template <class Values, class Emit>
    void match_from(std::int32_t node, const Values &values, Emit &emit) const {
        while (node != 0) {
            const std::int32_t *at = code_.data() + node;
            for (std::int32_t n = *at++; n > 0; --n) emit(*at++);
            const std::int32_t test = *at;
            if (test == END) return;
            std::int32_t child = 0;
            if (test >= 0) {
                child = at[2 + values[test]];
            } else {
                const std::int32_t value = values[~test];
                const std::int32_t *pair = at + 3;
                for (std::int32_t k = at[2]; k > 0 && child == 0; --k, pair += 2)
                    if (pair[0] == value) child = pair[1];
            }
            const std::int32_t any = at[1];
            if (child == 0) {
                node = any;
            } else {
                if (any != 0) match_from(any, values, emit);
                node = child;
            }
        }
    }

    std::vector<std::int32_t> code_;
};

}  // namespace misstep
