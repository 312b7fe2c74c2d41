#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "heuristics/fact_queue.h"
#include "heuristics/relaxed_task.h"

namespace misstep {

// How the costs of preconditions combine. Max needs only costs, Add also chooses best supporters.
enum class Combine { MAX, ADD };

// Costs of all facts from a state in the delete relaxation, by a generalised Dijkstra search (Knuth).
//
// With Add, facts carry labels (cost, layer), compared lexicographically: (0, 0) if true in the state, else the
// least over the relaxed operators that add the fact of
//     cost = own cost + sum over the preconditions,   layer = 1 + greatest layer of the preconditions.
// The supporter of a fact is the operator with the least (cost, layer, id). This does not depend on the order
// in which the queue returns facts, and supporters are never cyclic, not even between operators of cost zero,
// because layers decrease along them. A label is greater than those of the preconditions, so labels are final
// when processed in their order; if all operators cost something, the order of costs is enough.
//
// Costs are cut off at MAX_COST, which keeps an admissible estimate admissible. Costs above the buckets of the queue are
// processed in the full order of labels, since operators appear to cost nothing at the cut-off.
template <Combine COMBINE>
class Exploration {
   public:
    static constexpr std::uint32_t MAX_COST = MAX_OPERATOR_COST;

    explicit Exploration(std::shared_ptr<const RelaxedTask> relaxed);

    const RelaxedTask &relaxed() const { return *relaxed_; }

    // Labels of all facts.
    void explore(const int *values);
    // Stops when the facts of set_goal are settled: only their labels, and those of the facts that support
    // them, are final. Returns whether all of them are reachable.
    bool explore_to_goal(const int *values);
    void set_goal(std::span<const std::int32_t> facts);

    bool reached(std::int32_t fact) const { return labels_[fact] != UNREACHED; }
    std::uint32_t cost(std::int32_t fact) const { return cost_of(labels_[fact]); }
    std::uint32_t layer(std::int32_t fact) const
        requires(COMBINE == Combine::ADD)
    {
        return static_cast<std::uint32_t>(labels_[fact]);
    }
    // Only defined for reached facts that are not true in the state.
    std::int32_t supporter(std::int32_t fact) const
        requires(COMBINE == Combine::ADD)
    {
        return supporters_[fact];
    }

    std::size_t bytes() const;

   private:
    // Add: cost in the upper half, layer in the lower half.
    using Label = std::conditional_t<COMBINE == Combine::ADD, std::uint64_t, std::uint32_t>;
    static constexpr Label UNREACHED = ~Label{0};
    static constexpr std::uint32_t cost_of(Label label) {
        if constexpr (COMBINE == Combine::ADD) return static_cast<std::uint32_t>(label >> 32);
        return static_cast<std::uint32_t>(label);
    }

    static constexpr std::uint8_t GOAL = 1;
    static constexpr std::uint8_t TRIGGERS = 2;
    int is_goal(std::int32_t fact) const { return flags_[fact] & GOAL; }

    template <bool BY_LAYER>
    bool run(const int *values, int open_goals);
    void count_down(std::int32_t fact);
    template <bool BY_LAYER>
    void fire(std::uint32_t now);

    void push_layer(Label label, std::int32_t fact);

    std::shared_ptr<const RelaxedTask> relaxed_;
    std::vector<Label> labels_;
    std::vector<std::int32_t> supporters_;
    std::vector<std::uint16_t> missing_;  // preconditions not yet settled, per relaxed operator
    std::vector<std::int32_t> ready_;     // relaxed operators whose preconditions have just been settled
    std::size_t ready_count_ = 0;
    std::vector<std::int32_t> goal_;
    std::vector<std::uint8_t> flags_;  // 0: not worth a queue entry
    FactQueue queue_;
    FactQueue layers_;  // facts of the current cost by layer, if there are operators of cost zero
};

using MaxExploration = Exploration<Combine::MAX>;
using AddExploration = Exploration<Combine::ADD>;

extern template class Exploration<Combine::MAX>;
extern template class Exploration<Combine::ADD>;

}  // namespace misstep
