#include "safety/published_tarjan.h"

#include <algorithm>

namespace misstep::safety {

std::uint32_t PublishedTarjan::choice(StateId, bool) {
    throw std::invalid_argument("TarjanSafe as published has no strategies");
}

std::uint32_t PublishedTarjan::find(StateId id, Radius budget) const {
    std::uint32_t position = on_stack_[id];
    while (position != NONE && stack_[position].budget != budget) position = stack_[position].below;
    return position;
}

void PublishedTarjan::push(StateId id, Radius budget, Meter &meter) {
    meter.tick();
    const Actions actions = system_.actions(id);
    const Ranking ranking = system_.ranking(id, budget != UNBOUNDED);
    const auto position = static_cast<std::uint32_t>(stack_.size());
    std::uint32_t &top = on_stack_.at(id);
    stack_.push_back({id, budget, position, top});
    top = position;
    frames_.push_back({position, actions, ranking, NONE, NONE, 0});
}

void PublishedTarjan::pop_to(std::uint32_t position) {
    while (stack_.size() > position) {
        on_stack_.at(stack_.back().state) = stack_.back().below;
        stack_.pop_back();
    }
}

// Lines 9 to 17, until an outcome has to be searched first.
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
            // The stack before anything that is known: this is what the algorithm says, and what is wrong with it.
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

void PublishedTarjan::solve(StateId id, Radius radius, Meter &meter) {
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
        const bool is_safe = outcome == Outcome::completed;
        const std::uint32_t position = frame.position;
        const Node node = stack_[position];
        const std::uint32_t action = is_safe ? frame.ranking[frame.rank] : 0;
        frames_.pop_back();
        if (!is_safe) refuse(node.state, node.budget);
        if (node.low == position) {
            if (is_safe) commit(node.state, node.budget, action);
            pop_to(position);
        }
        if (frames_.empty()) break;
        Frame &parent = frames_.back();
        stack_[parent.position].low = std::min(stack_[parent.position].low, node.low);
        if (is_safe) ++parent.next;
        else parent.next = NONE;  // its label failed
    }
}

std::size_t PublishedTarjan::bytes() const {
    return BudgetDecider::bytes() + stack_.capacity() * sizeof(Node) + frames_.capacity() * sizeof(Frame) +
           on_stack_.bytes();
}

}  // namespace misstep::safety
