#pragma once

#include <memory>
#include <span>
#include <vector>

#include "heuristics/exploration.h"
#include "heuristics/relaxed_plan_sets.h"

namespace misstep {

// hFF(x, y): the estimated cost of going from one state to another, with all facts of y as the goal. The same
// values as HFF with set_goal(y), but one exploration serves all targets from x.
class PairFF {
   public:
    // Which ordered pairs (i, j) of a sequence of states: forward i < j, backward i > j.
    enum class Direction { FORWARD, BACKWARD, BOTH };
    static constexpr Cost NOT_ASKED = -1;

    explicit PairFF(std::shared_ptr<const RelaxedTask> relaxed);

    void explore(const int *source);
    // From the state last explored.
    Cost distance(const int *target);

    // The states lie one after the other, `count` of them. Entry i * count + j of the result is the value from
    // i to j: 0 on the diagonal, NOT_ASKED for pairs of the other direction.
    void all_pairs(std::span<const int> states, int count, Direction direction, std::vector<Cost> &result);

    std::size_t bytes() const { return exploration_.bytes() + plans_.bytes(); }

   private:
    void extend_goal(const int *state);

    AddExploration exploration_;
    RelaxedPlanSets plans_;
    std::vector<int> source_;
    std::vector<std::int32_t> goal_;
    std::vector<char> in_goal_;
};

}  // namespace misstep
