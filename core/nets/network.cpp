#include "nets/network.h"

#include <cmath>

namespace misstep {

int choose_output(const double *outputs, const bool *allowed, int count) {
    int best = NO_OUTPUT;
    for (int i = 0; i < count; ++i) {
        if (!allowed[i]) continue;
        if (!std::isfinite(outputs[i])) return NOT_FINITE;
        if (best == NO_OUTPUT || outputs[i] > outputs[best]) best = i;
    }
    return best;
}

}  // namespace misstep
