#pragma once

#include <algorithm>

#include "base/types.h"

namespace misstep {

// Sorts applicable operators. They are mostly few and almost sorted, where insertion sort is faster than a general sort.
inline void sort_few(OperatorId *begin, OperatorId *end) {
    constexpr int FEW = 24;
    if (end - begin > FEW) {
        std::sort(begin, end);
        return;
    }
    for (OperatorId *at = begin; at < end; ++at) {
        const OperatorId op = *at;
        OperatorId *to = at;
        for (; to > begin && to[-1] > op; --to) *to = to[-1];
        *to = op;
    }
}

}  // namespace misstep
