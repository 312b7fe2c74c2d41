#pragma once

#include <span>
#include <vector>

#include "fdr/value_preorder.h"

namespace misstep {

// The states of one walk, and the known paths between them: operators that lead from one state to another one, or to a
// state that is at least as good.
class WalkGraph {
   public:
    // Finds all paths with one operator or none.
    WalkGraph(const SuccessorGenerator &generator, const ValuePreorder &order, std::span<const int> walk);

    std::size_t size() const { return size_; }
    const int *state(std::size_t k) const { return walk_.data() + k * width_; }

    // Adds a path from a state to all states of the walk that it passes, not only to its end: on a ring, a path back to the
    // previous state may pass the start of the walk.
    void add_way(std::size_t from, const std::vector<OperatorId> &operators);

    // Dijkstra's algorithm from the last state, by cost and then by number of operators.
    void update();
    bool is_reached(std::size_t k) const { return reached_[k].parent != NONE; }
    std::size_t earliest() const;  // of those reached
    Cost cost(std::size_t k) const { return reached_[k].cost; }
    std::size_t length(std::size_t k) const { return reached_[k].length; }
    std::vector<OperatorId> way_to(std::size_t k) const;

   private:
    static constexpr std::uint32_t NONE = std::numeric_limits<std::uint32_t>::max();
    struct Way {
        std::uint32_t to;
        std::uint32_t length;
        Cost cost;
        OperatorId op;       // if the path consists of one operator
        std::uint32_t path;  // otherwise the index in paths_, of which the first `length` operators are used
    };
    struct Reached {
        Cost cost = 0;
        std::uint32_t length = 0;
        std::uint32_t parent = NONE;
    };
    void add(std::size_t from, const Way &way);
    const Way &way(std::size_t from, std::uint32_t to) const;
    const std::uint64_t *target(std::size_t k) const { return targets_.data() + k * order_.target_words(); }

    const SuccessorGenerator &generator_;
    const Task &task_;
    const ValuePreorder &order_;
    std::span<const int> walk_;
    std::size_t width_;
    std::size_t size_;
    std::vector<std::uint64_t> targets_;
    std::vector<std::vector<Way>> ways_;  // of each state, by `to`
    std::vector<std::vector<OperatorId>> paths_;
    std::vector<Reached> reached_;
};

}  // namespace misstep
