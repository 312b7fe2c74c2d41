#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fdr/task.h"

namespace misstep {

// The delete relaxation of a task, in flat arrays. Built once per task; immutable, so threads may share it.
//
// A relaxed operator stands for the effects of one operator that share their conditions: its preconditions are
// those of the operator and the conditions, its effects a list of facts. Compared with one unary operator per
// effect, preconditions are counted down once instead of once per effect. Effects that can never be a best
// supporter are left out:
//   - a fact among the operator's own preconditions;
//   - a fact that another relaxed operator, not more expensive, adds under a subset of the preconditions. For
//     equal preconditions and cost the operator that comes first keeps the effect.
// A relaxed operator whose preconditions ask for two values of one variable never fires and is left out.
// Relaxed operators are ordered by the operator they come from; their ids break ties between supporters.
class RelaxedTask {
   public:
    struct Operator {
        std::int32_t precondition_begin;
        std::int32_t effect_begin;
        std::int32_t cost;
        OperatorId parent;
    };

    // Keeps a reference to the task. Throws Unsupported if it has axioms.
    explicit RelaxedTask(const Task &task);

    const Task &task() const { return task_; }
    int fact_count() const { return task_.fact_count(); }
    int operator_count() const { return static_cast<int>(operators_.size()) - 1; }
    int effect_count() const { return static_cast<int>(effects_.size()); }
    int variable_count() const { return task_.variable_count(); }
    int fact(int variable, int value) const { return fact_offsets_[variable] + value; }

    // One element more than operators: the last one ends the slices of the one before.
    const Operator *operators() const { return operators_.data(); }
    std::span<const std::int32_t> preconditions(int op) const {
        return {preconditions_.data() + operators_[op].precondition_begin,
                preconditions_.data() + operators_[op + 1].precondition_begin};
    }
    std::span<const std::int32_t> effects(int op) const {
        return {effects_.data() + operators_[op].effect_begin, effects_.data() + operators_[op + 1].effect_begin};
    }
    // The relaxed operators with this precondition, in increasing order.
    std::span<const std::int32_t> triggered(int fact) const {
        return {triggered_.data() + triggered_offsets_[fact], triggered_.data() + triggered_offsets_[fact + 1]};
    }
    std::span<const std::int32_t> without_preconditions() const { return without_preconditions_; }
    // Per relaxed operator: 16 bits keep the per-state copy small.
    std::span<const std::uint16_t> precondition_counts() const { return precondition_counts_; }
    bool has_zero_cost() const { return has_zero_cost_; }

    std::size_t bytes() const;

   private:
    const Task &task_;
    std::vector<int> fact_offsets_;
    std::vector<Operator> operators_;
    std::vector<std::int32_t> preconditions_;
    std::vector<std::int32_t> effects_;
    std::vector<std::int32_t> triggered_offsets_;
    std::vector<std::int32_t> triggered_;
    std::vector<std::int32_t> without_preconditions_;
    std::vector<std::uint16_t> precondition_counts_;
    bool has_zero_cost_ = false;
};

}  // namespace misstep
