#pragma once

#include <span>
#include <vector>

#include "safety/transitions.h"

namespace misstep::safety {

// A model with its probabilities, in flat arrays: a state has labels, a label has edges, an edge has outcomes with weights. The
// policy, or another strategy, chooses the label. The environment chooses the edge, and the outcome is drawn with probability
// weight / sum of the edge's weights. All bounds refer to the exact quotient of these stored numbers.
struct Game {
    // OPEN: a state that was met and not explored. Nothing is known about it, so its risk is between 0 and 1. STOP: the policy ends
    // its run there, which is safe.
    enum Kind : std::uint8_t { INNER = 0, UNSAFE = 1, GOAL = 2, DEAD_END = 3, OPEN = 4, STOP = 5 };

    std::vector<std::uint8_t> kinds;
    std::vector<std::uint64_t> labels_of{0};    // one more than states: into labels
    std::vector<LabelId> labels;
    std::vector<std::uint64_t> edges_of{0};     // one more than labels: into edges
    std::vector<std::uint64_t> outcomes_of{0};  // one more than edges: into outcomes
    std::vector<StateId> outcomes;
    std::vector<double> weights;
    std::uint32_t factors =
        1;  // at most so many roundings are in a weight: of products, and of quotients of equal shares

    std::size_t size() const { return kinds.size(); }
    std::uint64_t edge_count() const { return outcomes_of.size() - 1; }
    // All outcomes of a state lie together.
    std::uint64_t first_outcome(StateId s) const { return outcomes_of[edges_of[labels_of[s]]]; }
    std::uint64_t last_outcome(StateId s) const { return outcomes_of[edges_of[labels_of[s + 1]]]; }
    std::size_t bytes() const {
        return kinds.capacity() + labels.capacity() * sizeof(LabelId) + outcomes.capacity() * sizeof(StateId) +
               weights.capacity() * sizeof(double) +
               (labels_of.capacity() + edges_of.capacity() + outcomes_of.capacity()) * sizeof(std::uint64_t);
    }

    // Throws std::invalid_argument if the arrays do not fit together.
    void check() const;
    // Keeps one label of each state: the one at the position that `choices` gives, or none with STOPS.
    static constexpr std::int64_t STOPS = -1;
    Game under(std::span<const std::int64_t> choices) const;
};

}  // namespace misstep::safety
