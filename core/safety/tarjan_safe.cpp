#include "safety/tarjan_safe.h"

#include <algorithm>

namespace misstep::safety {

std::uint32_t TarjanSafe::find(StateId id, Radius budget) const {
    std::uint32_t position = on_stack_[id];
    while (position != NONE && stack_[position].budget != budget) position = stack_[position].below;
    return position;
}

void TarjanSafe::push(StateId id, Radius budget, Meter &meter) {
    meter.tick();
    const Actions actions = system_.actions(id);
    const Ranking ranking = system_.ranking(id, budget != UNBOUNDED);
    const auto position = static_cast<std::uint32_t>(stack_.size());
    std::uint32_t &top = on_stack_.at(id);
    stack_.push_back({id, budget, position, top, 0});
    top = position;
    frames_.push_back({position, actions, ranking, NONE, NONE, 0});
}

void TarjanSafe::pop_to(std::uint32_t position) {
    while (stack_.size() > position) {
        on_stack_.at(stack_.back().state) = stack_.back().below;
        stack_.pop_back();
    }
}

// Goes on until an outcome has to be searched first, or the node is decided as far as it can be.
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
            // A look at all outcomes before diving into the first.
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
            if (!is_open(outcome)) continue;  // a dead end, as it turns out
            child = outcome;
            return Outcome::child;
        }
        if (frame.next == outcomes.size()) return Outcome::completed;
        frame.next = NONE;
    }
}

void TarjanSafe::solve(StateId id, Radius radius, Meter &meter) {
    pop_to(0);  // what a limit or an error has left
    frames_.clear();
    if (!is_open(id)) return;
    push(id, radius, meter);
    while (!frames_.empty()) {
        Frame &frame = frames_.back();
        StateId child = 0;
        const Outcome outcome = advance(frame, child);
        if (outcome == Outcome::child) {
            push(child, frame.left, meter);
            continue;
        }
        const std::uint32_t position = frame.position;
        if (outcome == Outcome::failed) {
            refuse(stack_[position].state, stack_[position].budget);
            frames_.pop_back();
            pop_to(position);
            if (!frames_.empty()) frames_.back().next = NONE;  // its label failed
            continue;
        }
        stack_[position].action = frame.ranking[frame.rank];
        const std::uint32_t low = stack_[position].low;
        frames_.pop_back();
        if (low == position) {
            for (std::size_t i = position; i < stack_.size(); ++i)
                commit(stack_[i].state, stack_[i].budget, stack_[i].action);
            pop_to(position);
        } else {
            Node &parent = stack_[frames_.back().position];
            parent.low = std::min(parent.low, low);
        }
        if (!frames_.empty()) ++frames_.back().next;
    }
}

std::size_t TarjanSafe::bytes() const {
    return BudgetDecider::bytes() + stack_.capacity() * sizeof(Node) + frames_.capacity() * sizeof(Frame) +
           on_stack_.bytes();
}

}  // namespace misstep::safety
