#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heuristics/exploration.h"

namespace misstep {

// Relaxed plans along best supporters, for any number of goals after one exploration.
//
// Each operator is counted once, however many of its effects are needed. That includes an operator that is needed for
// several conditional effects whose conditions become true at different times. A relaxed plan may have to apply such an
// operator twice, so with conditional effects the cost can be below hmax.
class RelaxedPlan {
   public:
    explicit RelaxedPlan(const AddExploration &exploration);
    RelaxedPlan(const RelaxedPlan &) = delete;

    // The labels of the goal facts must be final. INFINITE_COST if one is unreached. Goals come as
    // start(), any number of add(fact), and finish().
    void start();
    void add(std::int32_t fact) {
        if (exploration_.layer(fact) == 0 || fact_marks_[fact] == epoch_) return;
        fact_marks_[fact] = epoch_;
        open_.push_back(fact);
    }
    Cost finish();

    // In the order in which they were found from the goal.
    std::span<const OperatorId> operators() const { return operators_; }
    // Operators with a relaxed operator in the plan whose preconditions and conditions hold in the state; sorted.
    std::span<const OperatorId> helpful() const { return helpful_; }

    std::size_t bytes() const;

   private:
    const AddExploration &exploration_;
    std::vector<std::uint32_t> fact_marks_;
    std::vector<std::uint32_t> operator_marks_;
    std::vector<std::uint32_t> helpful_marks_;
    std::uint32_t epoch_ = 0;
    std::vector<std::int32_t> open_;
    std::vector<OperatorId> operators_;
    std::vector<OperatorId> helpful_;
};

}  // namespace misstep
