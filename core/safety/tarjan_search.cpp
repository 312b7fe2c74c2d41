#include "safety/tarjan_search.h"

namespace misstep::safety {

std::uint32_t TarjanSearch::find(StateId id, Radius budget) const {
    std::uint32_t position = on_stack_[id];
    while (position != NONE && stack_[position].budget != budget) position = stack_[position].below;
    return position;
}

void TarjanSearch::push(StateId id, Radius budget, Meter &meter) {
    meter.tick();
    const Actions actions = system_.actions(id);
    const Ranking ranking = system_.ranking(id, budget != UNBOUNDED);
    const auto position = static_cast<std::uint32_t>(stack_.size());
    std::uint32_t &top = on_stack_.at(id);
    stack_.push_back({id, budget, position, top, 0});
    top = position;
    frames_.push_back({position, actions, ranking, NONE, NONE, 0});
}

void TarjanSearch::pop_to(std::uint32_t position) {
    while (stack_.size() > position) {
        on_stack_.at(stack_.back().state) = stack_.back().below;
        stack_.pop_back();
    }
}

void TarjanSearch::solve(StateId id, Radius radius, Meter &meter) {
    pop_to(0);  // nodes of a question that a limit or an error ended
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
        const bool failed = outcome == Outcome::failed;
        const std::uint32_t position = frame.position;
        if (!failed) stack_[position].action = frame.ranking[frame.rank];
        frames_.pop_back();
        end(position, failed);
        if (frames_.empty()) break;
        Frame &parent = frames_.back();
        if (failed) parent.next = NONE;  // its label failed
        else ++parent.next;
    }
}

std::size_t TarjanSearch::bytes() const {
    return BudgetDecider::bytes() + stack_.capacity() * sizeof(Node) + frames_.capacity() * sizeof(Frame) +
           on_stack_.bytes();
}

}  // namespace misstep::safety
