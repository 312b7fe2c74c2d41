#include "safety/tarjan_safe.h"

#include <algorithm>

namespace misstep::safety {

TarjanSafe::Outcome TarjanSafe::advance(Frame &frame, StateId &child) {
    const StateId state = stack_[frame.position].state;
    const Radius budget = stack_[frame.position].budget;
    while (true) {
        if (frame.next == NONE) {
            if (++frame.rank == frame.actions.count()) return Outcome::failed;
            const std::uint32_t action = frame.ranking[frame.rank];
            const std::int32_t left = this->left(state, budget, frame.actions.label(action));
            if (left == NO_BUDGET) continue;
            frame.left = static_cast<Radius>(left);
            // All outcomes are tested before the first one is searched.
            const std::span<const StateId> outcomes = frame.actions.outcomes(action);
            if (std::any_of(outcomes.begin(), outcomes.end(),
                            [&](StateId outcome) { return quick(outcome, frame.left) == Answer::not_safe; }))
                continue;
            frame.next = 0;
        }
        const std::span<const StateId> outcomes = frame.actions.outcomes(frame.ranking[frame.rank]);
        for (; frame.next < outcomes.size(); ++frame.next) {
            const StateId outcome = outcomes[frame.next];
            const Answer answer = quick(outcome, frame.left);
            if (answer == Answer::safe) continue;
            if (answer == Answer::not_safe) break;  // found out meanwhile
            if (const std::uint32_t position = find(outcome, frame.left); position != NONE) {
                stack_[frame.position].low = std::min(stack_[frame.position].low, stack_[position].low);
                continue;
            }
            if (!is_open(outcome)) continue;  // the expansion has shown a dead end
            child = outcome;
            return Outcome::child;
        }
        if (frame.next == outcomes.size()) return Outcome::completed;
        frame.next = NONE;
    }
}

void TarjanSafe::end(std::uint32_t position, bool failed) {
    const std::uint32_t low = stack_[position].low;
    if (failed) {
        refuse(stack_[position].state, stack_[position].budget);
        pop_to(position);
    } else if (low == position) {
        for (std::size_t i = position; i < stack_.size(); ++i)
            commit(stack_[i].state, stack_[i].budget, stack_[i].action);
        pop_to(position);
    } else {
        Node &parent = stack_[frames_.back().position];
        parent.low = std::min(parent.low, low);
    }
}

}  // namespace misstep::safety
