#include "improve/goal_distances.h"

#include <algorithm>
#include <functional>

namespace misstep {

void GoalDistances::relax(TransitionId id) {
    const auto [op, target] = graph_.transition(id);
    const Distance &from_target = distances_[target];
    if (from_target.cost >= INFINITE_COST) return;
    const StateId source = graph_.source(id);
    Distance &distance = distances_[source];
    const Cost cost = graph_.task().cost(op) + from_target.cost;
    const std::uint32_t steps = from_target.steps + 1;
    if (cost > distance.cost || (cost == distance.cost && steps >= distance.steps)) return;
    distance = {cost, steps, id};
    queue_.push_back({cost, steps, source});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void GoalDistances::update() {
    for (auto id = static_cast<StateId>(distances_.size()); id < graph_.size(); ++id)
        distances_.push_back(graph_.is_goal(id) ? Distance{0, 0, NO_TRANSITION} : Distance{});
    for (; taken_in_ < graph_.transition_count(); ++taken_in_) relax(taken_in_);
    while (!queue_.empty()) {
        std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
        const Entry entry = queue_.back();
        queue_.pop_back();
        const Distance &now = distances_[entry.id];
        if (entry.cost != now.cost || entry.steps != now.steps) continue;  // improved again since
        for (TransitionId t = graph_.last_incoming(entry.id); t != NO_TRANSITION; t = graph_.next_incoming(t)) relax(t);
    }
}

Plan GoalDistances::plan(StateId id) const {
    Plan result;
    for (TransitionId t = distances_[id].by; t != NO_TRANSITION; t = distances_[graph_.transition(t).target].by)
        result.push_back(graph_.transition(t).op);
    return result;
}

void GoalDistances::path(StateId id, std::vector<StateId> &states) const {
    states.assign(1, id);
    for (TransitionId t = distances_[id].by; t != NO_TRANSITION; t = distances_[states.back()].by)
        states.push_back(graph_.transition(t).target);
}

}  // namespace misstep
