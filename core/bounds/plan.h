#pragma once

#include <span>
#include <stdexcept>
#include <vector>

#include "fdr/successors.h"

namespace misstep {

using Plan = std::vector<OperatorId>;

// The sequence of operators is not a plan. The message names the step, counted from 1.
struct InvalidPlan : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// Executes the plan and returns its cost. Throws InvalidPlan if an operator does not exist or is not applicable in its
// state, or if the last state is not a goal.
Cost replay(const Task &task, const int *start, std::span<const OperatorId> plan);

Cost cost_of(const Task &task, std::span<const OperatorId> plan);

}  // namespace misstep
