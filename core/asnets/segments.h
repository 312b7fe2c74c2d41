#pragma once

#include <cstddef>
#include <cstdint>

namespace misstep {

// An operation of an ASNet that a general tensor library does slowly on a CPU, and the gradients of it and of gathering
// rows. Rows are `width` floats. Sums run in the order of the arrays, so results do not depend on threads.

// out[s] = element-wise maximum of the rows members[offsets[s] .. offsets[s + 1]) of x, and `empty` without any.
// winner[s] = the member that gave each number, the first of equals, or -1.
void segment_max(const float *x, const std::int32_t *members, const std::int32_t *offsets, std::size_t segments,
                 std::size_t width, float empty, float *out, std::int32_t *winner);

// The gradient of segment_max: adds each number to that of its winner.
void scatter_winners(const float *gradient, const std::int32_t *winner, std::size_t segments, std::size_t width,
                     float *out);

// The gradient of gathering rows: out[index[i]] += gradient[i].
void scatter_rows(const float *gradient, const std::int32_t *index, std::size_t count, std::size_t width, float *out);

}  // namespace misstep
