#include "safety/published_tarjan.h"

#include <algorithm>

namespace misstep::safety {

std::uint32_t PublishedTarjan::choice(StateId, bool) {
    throw std::invalid_argument("TarjanSafe as published has no strategies");
}

// Lines 9 to 17 of the paper's algorithm, until an outcome has to be searched first.
PublishedTarjan::Outcome PublishedTarjan::advance(Frame &frame, StateId &child) {
    const StateId state = stack_[frame.position].state;
    const Radius budget = stack_[frame.position].budget;
    while (true) {
        if (frame.next == NONE) {
            if (++frame.rank == frame.actions.count()) return Outcome::failed;
            const std::int32_t left = this->left(state, budget, frame.actions.label(frame.ranking[frame.rank]));
            if (left == NO_BUDGET) continue;
            frame.left = static_cast<Radius>(left);
            frame.next = 0;
        }
        const std::span<const StateId> outcomes = frame.actions.outcomes(frame.ranking[frame.rank]);
        for (; frame.next < outcomes.size(); ++frame.next) {
            const StateId outcome = outcomes[frame.next];
            // The algorithm looks at the stack before it looks at what is known, which is its mistake.
            if (const std::uint32_t position = find(outcome, frame.left); position != NONE) {
                stack_[frame.position].low = std::min(stack_[frame.position].low, position);
                continue;
            }
            const Answer answer = quick(outcome, frame.left);
            if (answer == Answer::not_safe) break;
            if (answer == Answer::safe || !is_open(outcome)) continue;
            child = outcome;
            return Outcome::child;
        }
        if (frame.next == outcomes.size()) return Outcome::completed;
        frame.next = NONE;
    }
}

void PublishedTarjan::end(std::uint32_t position, bool failed) {
    const Node node = stack_[position];
    if (failed) refuse(node.state, node.budget);
    if (node.low == position) {
        if (!failed) commit(node.state, node.budget, node.action);
        pop_to(position);
    }
    if (frames_.empty()) return;
    Node &parent = stack_[frames_.back().position];
    parent.low = std::min(parent.low, node.low);
}

}  // namespace misstep::safety
