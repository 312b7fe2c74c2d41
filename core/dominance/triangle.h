#pragma once

#include <cstdint>

#include "dominance/table.h"

namespace misstep::dominance {

// Whether D(s, t) + D(t, u) <= D(s, u) for all states of a factor. Also false if the check would take more than `max_steps` steps.
bool satisfies_triangle(const Table &table, std::uint64_t max_steps);

}  // namespace misstep::dominance
