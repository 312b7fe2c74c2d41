#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fdr/task.h"

namespace misstep::dominance {

inline constexpr int PRUNED = -1;

// Which abstract state of a factor a concrete state belongs to.
//
// A tree that follows the construction of the factor: a leaf maps the values of a variable, an inner node maps the pairs of
// states of its two parts. Values that were pruned map to PRUNED, and a pair with a pruned part is pruned. A factor with one
// state left still needs such a table, because it says which values were pruned: without the factor, dead ends would get
// finite bounds.
class Lookup {
   public:
    static Lookup leaf(int variable, int domain_size);
    static Lookup product(const Lookup &left, const Lookup &right, int right_size);

    // Replaces each abstract state by renamed[state], which may be PRUNED.
    void rename(std::span<const int> renamed);

    // From now on evaluates by one table over all its variables, unless that table would have more than `max_entries` entries.
    void flatten(std::span<const int> domain_sizes, std::size_t max_entries);

    int operator()(const int *values) const {
        return flat_.empty() ? evaluate(root(), values) : flat_[flat_position(values)];
    }

    // The first assignment to the variables that belongs to each abstract state, as facts in the order of the tree.
    std::vector<std::vector<Fact>> representatives(int size) const;

    void write(std::vector<std::int64_t> &out) const;
    // Empty if the numbers describe no lookup over these domains with abstract states below `size`.
    static std::optional<Lookup> read(std::span<const std::int64_t> &in, std::span<const int> domain_sizes, int size);

   private:
    struct Node {
        int variable;  // of a leaf; -1: inner
        int left;
        int right;
        int right_size;
        std::vector<int> table;  // by value, or by left id * right_size + right id
    };
    int root() const { return static_cast<int>(nodes_.size()) - 1; }
    int evaluate(int node, const int *values) const;
    std::size_t flat_position(const int *values) const {
        std::size_t position = 0;
        for (const auto &[variable, factor] : radix_) position += factor * values[variable];
        return position;
    }
    std::vector<std::vector<Fact>> representatives_of(int node, int size) const;

    std::vector<Node> nodes_;  // parts before the whole
    std::vector<std::pair<int, std::size_t>> radix_;
    std::vector<int> flat_;
};

}  // namespace misstep::dominance
