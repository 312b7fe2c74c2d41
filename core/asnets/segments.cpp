#include "asnets/segments.h"

#include <algorithm>

// Also compiled for wide registers; the version is chosen at load time. Every lane does the same operations in both.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define MISSTEP_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MISSTEP_WIDE
#endif

namespace misstep {

namespace {

// Processes a block of WIDTH numbers at once, so that they stay in registers over a whole segment.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void block_max(const float *x, const std::int32_t *begin, const std::int32_t *end,
                                             std::size_t stride, float *out, std::int32_t *winner) {
    float best[WIDTH];
    std::int32_t who[WIDTH];
    const float *first = x + static_cast<std::size_t>(*begin) * stride;
    for (std::size_t i = 0; i < WIDTH; ++i) best[i] = first[i];
    for (std::size_t i = 0; i < WIDTH; ++i) who[i] = *begin;
    for (const std::int32_t *e = begin + 1; e < end; ++e) {
        const float *row = x + static_cast<std::size_t>(*e) * stride;
        for (std::size_t i = 0; i < WIDTH; ++i) {
            who[i] = row[i] > best[i] ? *e : who[i];
            best[i] = row[i] > best[i] ? row[i] : best[i];
        }
    }
    for (std::size_t i = 0; i < WIDTH; ++i) out[i] = best[i];
    for (std::size_t i = 0; i < WIDTH; ++i) winner[i] = who[i];
}

}  // namespace

MISSTEP_WIDE
void segment_max(const float *x, const std::int32_t *members, const std::int32_t *offsets, std::size_t segments,
                 std::size_t width, float empty, float *out, std::int32_t *winner) {
    for (std::size_t s = 0; s < segments; ++s, out += width, winner += width) {
        const std::int32_t begin = offsets[s];
        const std::int32_t end = offsets[s + 1];
        if (begin == end) {
            std::fill_n(out, width, empty);
            std::fill_n(winner, width, -1);
            continue;
        }
        std::size_t i = 0;
        for (; i + 16 <= width; i += 16)
            block_max<16>(x + i, members + begin, members + end, width, out + i, winner + i);
        for (; i < width; ++i) block_max<1>(x + i, members + begin, members + end, width, out + i, winner + i);
    }
}

void scatter_winners(const float *gradient, const std::int32_t *winner, std::size_t segments, std::size_t width,
                     float *out) {
    for (std::size_t s = 0; s < segments; ++s, gradient += width, winner += width)
        for (std::size_t i = 0; i < width; ++i)
            if (winner[i] >= 0) out[static_cast<std::size_t>(winner[i]) * width + i] += gradient[i];
}

MISSTEP_WIDE
void scatter_rows(const float *gradient, const std::int32_t *index, std::size_t count, std::size_t width, float *out) {
    for (std::size_t i = 0; i < count; ++i, gradient += width) {
        float *row = out + static_cast<std::size_t>(index[i]) * width;
        for (std::size_t k = 0; k < width; ++k) row[k] += gradient[k];
    }
}

}  // namespace misstep
