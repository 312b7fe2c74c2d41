#pragma once

namespace misstep {

// Lets Ctrl-C and alarms end long work that has no `Limits`, such as evaluating a batch or reading a task. The work calls
// `let_interrupt()` for each state or operator. Most calls only decrement a counter. The clock is read every few calls,
// and the poll function is called at most every 50 milliseconds; it may throw. It must handle calls from any thread.
using InterruptPoll = void (*)();
void set_interrupt_poll(InterruptPoll poll);

namespace interrupt {
extern thread_local int countdown;
void look();
}  // namespace interrupt

// `weight` says how long the work since the last call took, measured in operators: heavy work reads the clock more often.
inline void let_interrupt(int weight = 1) {
    if ((interrupt::countdown -= weight) <= 0) interrupt::look();
}
constexpr int HEAVY = 16;
constexpr int HEAVIEST = 64;

}  // namespace misstep
