#include "base/interrupt.h"

#include <atomic>
#include <chrono>

namespace misstep {

namespace {
using Clock = std::chrono::steady_clock;
constexpr auto POLL_EVERY = std::chrono::milliseconds(50);

std::atomic<InterruptPoll> the_poll{nullptr};
thread_local Clock::time_point last_poll;
}  // namespace

namespace interrupt {

thread_local int countdown = 0;

void look() {
    countdown = HEAVIEST;
    const Clock::time_point now = Clock::now();
    if (now - last_poll < POLL_EVERY) return;
    last_poll = now;
    if (const InterruptPoll poll = the_poll) poll();
}

}  // namespace interrupt

void set_interrupt_poll(InterruptPoll poll) { the_poll = poll; }

}  // namespace misstep
