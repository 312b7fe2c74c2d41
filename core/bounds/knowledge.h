#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "bounds/bound_store.h"

namespace misstep {

// What a bound store knows about some of its states, in a form that can be stored and given to another store.
//
// A store may hold millions of states that searches have met, and most of their bounds are not needed. So the knowledge
// consists only of the steps that prove the upper bounds of the given states, the transitions between given states, and
// the lower bounds of all these states. A store that adds it has the same bounds for the given states as the original
// store, or better ones if it knew more before.
struct Knowledge {
    // In place of an operator: the edge is a jump (derived_bounds.h).
    static constexpr std::int64_t JUMP = -1;
    // In place of a lower bound: there is no plan.
    static constexpr std::int64_t INFINITE = -1;
    // An edge consists of four numbers: row of the source, operator or JUMP, row of the target, value of the jump or 0.
    static constexpr std::size_t EDGE = 4;

    std::vector<std::int32_t> states;  // rows of values; the given states come first, each once
    std::vector<std::int64_t> lower;   // for each of these states
    std::vector<std::int64_t> edges;   // each once
};

// Knowledge that does not fit the task.
struct InvalidKnowledge : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// The order is fixed: for each given state the steps of its plan, those of its derivation, and its other transitions to
// given states, sorted by operator.
Knowledge knowledge(BoundStore &store, std::span<const std::int32_t> given);

// Throws InvalidKnowledge, before anything is added to the store, if a number is out of range, or an operator does not
// apply or leads to another state. Whether jumps and lower bounds are true cannot be checked here; only jumps that give a
// bound below 0 are refused, after they have been added. The values of the states have to be in range.
void add_knowledge(BoundStore &store, std::span<const std::int32_t> states, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> edges);

}  // namespace misstep
