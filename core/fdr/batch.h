#pragma once

#include <cstdint>
#include <vector>

#include "fdr/successors.h"

namespace misstep {

// Operations on many states at once. A batch is a row-major array: one row a state, one column a variable.

// Position of the first value outside its domain, -1 if there is none.
std::int64_t find_invalid_value(const Task &task, const std::int32_t *states, std::size_t count);

// Applicable operators of row i, in increasing order: operators[offsets[i] .. offsets[i + 1]).
void applicable_batch(const SuccessorGenerator &generator, const std::int32_t *states, std::size_t count,
                      std::vector<std::int64_t> &offsets, std::vector<OperatorId> &operators);

// Applies operators[i] to row i. Returns the first row whose operator does not apply, -1 if all do.
std::int64_t apply_batch(const Task &task, const std::int32_t *states, const OperatorId *operators, std::size_t count,
                         std::int32_t *result);

void is_goal_batch(const Task &task, const std::int32_t *states, std::size_t count, bool *result);

}  // namespace misstep
