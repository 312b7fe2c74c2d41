#include "nets/network.h"

#include <cmath>

namespace misstep {

int choose_output(const double *outputs, const bool *allowed, int count) {
    int best = NO_ACTION;
    for (int i = 0; i < count; ++i) {
        if (!allowed[i]) continue;
        if (!std::isfinite(outputs[i])) return FAILED;
        if (best == NO_ACTION || outputs[i] > outputs[best]) best = i;
    }
    return best;
}

}  // namespace misstep
