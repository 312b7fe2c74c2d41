#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jani/expression.h"

namespace misstep::jani {

// `slot = value` must hold for the edge to be enabled.
struct Key {
    SlotId slot;
    Word value;
};

// The equalities of a guard that may be tested before the other conjuncts: those to the left of the first conjunct that may
// have no result. An equality to the right of it could hide an error of the model if it were tested first.
std::vector<Key> equalities(const Expressions &expressions, const std::vector<ExprId> &conjuncts);

// Finds the edges whose guards may hold in a state: a decision tree over the equalities in the guards. Each
// inner node tests the slot that is expected to leave the fewest edges, and has a child for each of its values.
class EdgeIndex {
   public:
    EdgeIndex() = default;
    EdgeIndex(const Expressions &expressions, const std::vector<std::vector<Key>> &keys);

    std::span<const std::uint32_t> candidates(const Word *values) const {
        const Node *node = &nodes_[0];
        while (node->slot != LEAF) {
            const std::uint64_t offset =
                static_cast<std::uint64_t>(values[node->slot]) - static_cast<std::uint64_t>(node->low);
            node = &nodes_[children_[node->begin + offset]];
        }
        return {entries_.data() + node->begin, node->count};
    }

   private:
    static constexpr SlotId LEAF = ~SlotId{0};
    struct Node {
        SlotId slot;
        Word low;
        std::uint32_t begin;
        std::uint32_t count;
    };

    std::uint32_t build(const Expressions &expressions, const std::vector<std::vector<Key>> &keys,
                        const std::vector<std::uint32_t> &edges, std::vector<SlotId> &used);
    std::uint32_t leaf(const std::vector<std::uint32_t> &edges);

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> children_;
    std::vector<std::uint32_t> entries_;
};

}  // namespace misstep::jani
