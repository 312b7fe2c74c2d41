#include "bounds/lower_bounds.h"

namespace misstep {

// A state that is not a goal needs at least one operator.
void LowerBounds::cover() {
    for (auto id = static_cast<StateId>(bounds_.size()); id < graph_.size(); ++id)
        bounds_.push_back(graph_.is_goal(id) ? 0 : graph_.task().min_cost());
}

void LowerBounds::raise(StateId id, Cost bound) {
    cover();
    if (bound <= bounds_[id]) return;
    bounds_[id] = bound;
    queue_.emplace(bound, id);
}

void LowerBounds::pass_on(const TransitionCache::Transition &transition) {
    const Cost bound = bounds_[transition.source];
    raise(transition.target, bound >= INFINITE_COST ? INFINITE_COST : bound - graph_.task().cost(transition.op));
}

void LowerBounds::update() {
    cover();
    for (; taken_in_ < graph_.transition_count(); ++taken_in_) pass_on(graph_.transition(taken_in_));
    while (!queue_.empty()) {
        const auto [bound, id] = queue_.top();
        queue_.pop();
        if (bound != bounds_[id]) continue;  // the entry is out of date
        graph_.for_each_outgoing(id, [&](const TransitionCache::Transition &transition) { pass_on(transition); });
    }
}

}  // namespace misstep
