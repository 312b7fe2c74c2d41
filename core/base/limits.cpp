#include "base/limits.h"

#include <algorithm>

namespace misstep {

const char *name(Limit limit) {
    switch (limit) {
        case Limit::none: return "none";
        case Limit::time: return "time";
        case Limit::memory: return "memory";
        case Limit::expansions: return "expansions";
        case Limit::evaluations: return "evaluations";
        case Limit::generated: return "generated";
        case Limit::iterations: return "iterations";
        case Limit::interrupted: return "interrupted";
    }
    return "none";
}

LimitWatch::LimitWatch(const Limits &limits) : limits_(limits), start_(Clock::now()) {}

double LimitWatch::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

Limit LimitWatch::check_slow(Progress &progress) {
    constexpr double CHECK_EVERY = 1e-3;
    constexpr double POLL_EVERY = 0.1;
    const double now = seconds();
    interval_ = now - last_check_ < CHECK_EVERY ? std::min(2 * interval_, 1 << 16) : std::max(interval_ / 2, 1);
    countdown_ = interval_;
    last_check_ = now;
    progress.seconds = now;
    if (now >= limits_.seconds) return Limit::time;
    if (progress.bytes >= limits_.bytes) return Limit::memory;
    if (limits_.poll && now - last_poll_ >= POLL_EVERY) {
        last_poll_ = now;
        if (!limits_.poll(progress)) return Limit::interrupted;
    }
    return Limit::none;
}

}  // namespace misstep
