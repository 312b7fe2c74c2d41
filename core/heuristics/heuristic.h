#pragma once

#include <cstddef>
#include <span>

#include "base/types.h"

namespace misstep {

// An estimate of the cost of reaching the goal. Evaluation reuses buffers of the object: one object per thread.
class Heuristic {
   public:
    virtual ~Heuristic() = default;

    // INFINITE_COST proves that the goal cannot be reached from the state.
    virtual Cost evaluate(const int *values) = 0;

    // Helpful operators of the last evaluated state, in increasing order; empty if the heuristic defines none.
    virtual std::span<const OperatorId> helpful() const { return {}; }

    virtual std::size_t bytes() const = 0;
};

}  // namespace misstep
