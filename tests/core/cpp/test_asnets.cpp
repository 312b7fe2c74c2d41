#include <vector>

#include "asnets/segments.h"
#include "base/random.h"
#include "check.h"

using namespace misstep;

namespace {

// Widths below, at and beyond the block of 16 numbers that stays in registers.
void test_segment_max(std::size_t width) {
    CounterRandom random(width);
    std::vector<float> x(5 * width);
    for (float &number : x) number = static_cast<float>(random.below(4));  // so that there are ties
    const std::vector<std::int32_t> members{3, 0, 1, 4, 4, 2}, offsets{0, 3, 3, 4, 6};
    std::vector<float> out(4 * width, 99);
    std::vector<std::int32_t> winner(4 * width, 99);
    segment_max(x.data(), members.data(), offsets.data(), 4, width, -1, out.data(), winner.data());
    std::vector<float> gradient(out.size()), back(x.size()), expected_back(x.size());
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i + 1);
    for (std::size_t s = 0; s < 4; ++s)
        for (std::size_t i = 0; i < width; ++i) {
            float best = -1;
            std::int32_t who = -1;
            for (std::int32_t m = offsets[s]; m < offsets[s + 1]; ++m) {
                const float number = x[static_cast<std::size_t>(members[m]) * width + i];
                if (who >= 0 && number <= best) continue;
                best = number;
                who = members[m];
            }
            CHECK_EQUAL(out[s * width + i], best);
            CHECK_EQUAL(winner[s * width + i], who);
            if (who >= 0) expected_back[static_cast<std::size_t>(who) * width + i] += gradient[s * width + i];
        }
    scatter_winners(gradient.data(), winner.data(), 4, width, back.data());
    CHECK(back == expected_back);

    const std::vector<std::int32_t> index{2, 0, 2, 2};
    std::vector<float> rows(3 * width);
    scatter_rows(gradient.data(), index.data(), 4, width, rows.data());
    for (std::size_t i = 0; i < width; ++i) {
        CHECK_EQUAL(rows[i], gradient[width + i]);
        CHECK_EQUAL(rows[width + i], 0.0F);
        CHECK_EQUAL(rows[2 * width + i], gradient[i] + gradient[2 * width + i] + gradient[3 * width + i]);
    }
}

}  // namespace

int main() {
    for (const std::size_t width : {1, 15, 16, 17, 48}) test_segment_max(width);
    return misstep::test::result();
}
