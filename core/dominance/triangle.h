#pragma once

#include <cstdint>

#include "dominance/table.h"

namespace misstep::dominance {

// Looks whether D(s, t) + D(t, u) <= D(s, u) for all states of a factor. Says no if that would take more than so many steps.
bool satisfies_triangle(const Table &table, std::uint64_t max_steps);

}  // namespace misstep::dominance
