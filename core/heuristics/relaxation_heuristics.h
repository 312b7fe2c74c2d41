#pragma once

#include <memory>
#include <span>

#include "heuristics/exploration.h"
#include "heuristics/heuristic.h"
#include "heuristics/relaxed_plan.h"

namespace misstep {

// Heuristics of the delete relaxation. The goal can be set to any partial or full state; at first it is that of
// the task. All are INFINITE_COST if and only if a goal fact cannot be reached in the relaxation, and 0 if the
// goal holds.

// The cost of the most expensive goal fact, where preconditions cost as much as the most expensive one. Admissible.
class HMax : public Heuristic {
   public:
    explicit HMax(std::shared_ptr<const RelaxedTask> relaxed);
    void set_goal(std::span<const Fact> goal);
    Cost evaluate(const int *values) override;
    std::size_t bytes() const override { return exploration_.bytes(); }

   private:
    MaxExploration exploration_;
    std::vector<std::int32_t> goal_;
};

// The sum of the costs of the goal facts, where the costs of preconditions are summed up. Not admissible.
class HAdd : public Heuristic {
   public:
    explicit HAdd(std::shared_ptr<const RelaxedTask> relaxed);
    void set_goal(std::span<const Fact> goal);
    Cost evaluate(const int *values) override;
    std::size_t bytes() const override { return exploration_.bytes(); }

   private:
    AddExploration exploration_;
    std::vector<std::int32_t> goal_;
};

// The cost of a relaxed plan along the best supporters of HAdd. Not admissible.
class HFF : public Heuristic {
   public:
    explicit HFF(std::shared_ptr<const RelaxedTask> relaxed);
    void set_goal(std::span<const Fact> goal);
    Cost evaluate(const int *values) override;
    // Of the last evaluated state; empty if it was a dead end.
    std::span<const OperatorId> helpful() const override { return plan_.helpful(); }
    std::size_t bytes() const override { return exploration_.bytes() + plan_.bytes(); }

   private:
    AddExploration exploration_;
    RelaxedPlan plan_;
    std::vector<std::int32_t> goal_;
};

}  // namespace misstep
