#pragma once

namespace misstep {

// Ctrl-C and alarms inside long work that has no `Limits`, such as evaluating a batch or reading a task. The work calls
// `let_interrupt()` for each state or operator. The clock is read every few calls, and the poll function is called
// every 50 milliseconds; it may throw. Most calls only decrement a counter. The poll function must handle calls from
// threads that it does not know.
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
