#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace misstep {

// Which limit ended the work. `interrupted` is the user's Ctrl-C, noticed by the poll callback.
enum class Limit { none, time, memory, expansions, evaluations, generated, iterations, interrupted };

const char *name(Limit limit);

struct Progress {
    std::uint64_t expansions = 0;
    std::uint64_t evaluations = 0;
    std::uint64_t generated = 0;
    std::size_t bytes = 0;
    double seconds = 0;
};

struct Limits {
    double seconds = std::numeric_limits<double>::infinity();
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
    std::uint64_t expansions = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t evaluations = std::numeric_limits<std::uint64_t>::max();
    // Called at most ten times a second; returning false interrupts the work.
    std::function<bool(const Progress &)> poll;
};

// Checks the limits from inside a hot loop. Counters are compared on every call; the clock and the memory only about once
// per millisecond. The number of calls between two looks at the clock adapts: a blind search calls this a million times a
// second, LM-cut on a large task ten times.
class LimitWatch {
   public:
    explicit LimitWatch(const Limits &limits);

    // `bytes` is any callable that returns the memory in use.
    template <class Bytes>
    Limit check(Progress &progress, Bytes &&bytes) {
        if (progress.expansions >= limits_.expansions) return Limit::expansions;
        if (progress.evaluations >= limits_.evaluations) return Limit::evaluations;
        if (--countdown_ > 0) return Limit::none;
        progress.bytes = bytes();
        return check_slow(progress);
    }

    double seconds() const;

   private:
    using Clock = std::chrono::steady_clock;
    Limit check_slow(Progress &progress);

    const Limits &limits_;
    Clock::time_point start_;
    double last_check_ = 0;
    double last_poll_ = 0;
    int interval_ = 1;
    int countdown_ = 1;
};

}  // namespace misstep
