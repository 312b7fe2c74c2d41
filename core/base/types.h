#pragma once

#include <cstdint>
#include <limits>

namespace misstep {

// Dense ids index flat arrays everywhere, so they are plain integers.
using StateId = std::uint32_t;
using OperatorId = std::int32_t;
inline constexpr StateId NO_STATE = std::numeric_limits<StateId>::max();
inline constexpr OperatorId NO_OPERATOR = -1;

// Costs of plans. An operator costs at most MAX_OPERATOR_COST (the SAS reader refuses more), so that a sum
// over any plan that fits in memory stays far below INFINITE_COST.
using Cost = std::int64_t;
inline constexpr Cost INFINITE_COST = std::numeric_limits<Cost>::max() / 4;
inline constexpr Cost MAX_OPERATOR_COST = (1 << 30) - 1;

}  // namespace misstep
