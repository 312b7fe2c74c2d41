#pragma once

#include <vector>

#include "fdr/task.h"

namespace misstep::naive {

// Scans all operators. Slow but obviously right: the twin that the successor generator is tested against.
inline std::vector<OperatorId> applicable(const Task &task, const int *values) {
    std::vector<OperatorId> result;
    for (OperatorId op = 0; op < task.operator_count(); ++op)
        if (task.applicable(op, values)) result.push_back(op);
    return result;
}

}  // namespace misstep::naive
