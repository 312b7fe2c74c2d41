#pragma once

#include <cstdint>

#include "base/limits.h"

namespace misstep::dominance {

// The budget for building factors. `limits.expansions` counts the labels and transitions read, so that the result is the same on
// every machine.
class Work {
   public:
    explicit Work(const Limits &limits) : watch_(limits) {}

    // True if a limit is reached and the work has to stop.
    bool spend(std::uint64_t steps) {
        progress_.expansions += steps;
        if (limit_ == Limit::none) limit_ = watch_.check(progress_, [] { return std::size_t{0}; });
        return limit_ != Limit::none;
    }
    Limit limit() const { return limit_; }

   private:
    LimitWatch watch_;
    Progress progress_;
    Limit limit_ = Limit::none;
};

}  // namespace misstep::dominance
