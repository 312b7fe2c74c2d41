#pragma once

namespace misstep {

// Ctrl-C and alarms inside long work that has no `Limits` of its own, such as the estimates of a batch or the reading of a
// task. Whatever is done for one state or one operator calls `let_interrupt()` first. The clock is looked at every few calls
// and the poll function called once in 50 milliseconds; it may throw. A call costs a decrement.
// Threads that the poll function does not know must be told apart by it.
using InterruptPoll = void (*)();
void set_interrupt_poll(InterruptPoll poll);

namespace interrupt {
extern thread_local int countdown;
void look();
}  // namespace interrupt

// `weight` says how long the work takes, in operators looked at: work that is heavy looks at the clock more often.
inline void let_interrupt(int weight = 1) {
    if ((interrupt::countdown -= weight) <= 0) interrupt::look();
}
constexpr int HEAVY = 16;
constexpr int HEAVIEST = 64;

}  // namespace misstep
