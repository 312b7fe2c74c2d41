#include "bounds/goal_distances.h"

namespace misstep {

void GoalDistances::relax(TransitionId id, const TransitionCache::Transition &transition) {
    const Distance &from_target = distances_[transition.target];
    if (from_target.cost >= INFINITE_COST) return;
    Distance &distance = distances_[transition.source];
    const Cost cost = graph_.task().cost(transition.op) + from_target.cost;
    const std::uint32_t steps = from_target.steps + 1;
    if (cost > distance.cost || (cost == distance.cost && steps >= distance.steps)) return;
    if (cost < distance.cost) ++revision_;
    distance = {cost, steps, id};
    queue_.push(cost, steps, transition.source);
}

void GoalDistances::update() {
    for (auto id = static_cast<StateId>(distances_.size()); id < graph_.size(); ++id)
        distances_.push_back(graph_.is_goal(id) ? Distance{0, 0, NO_TRANSITION} : Distance{});
    for (; taken_in_ < graph_.transition_count(); ++taken_in_) relax(taken_in_, graph_.transition(taken_in_));
    while (!queue_.empty()) {
        const Cost cost = queue_.lowest();
        const StateId id = queue_.pop();
        if (cost != distances_[id].cost) continue;  // the entry is out of date
        for (TransitionId t = graph_.last_incoming(id); t != NO_TRANSITION;) {
            const TransitionCache::Transition &transition = graph_.transition(t);
            relax(t, transition);
            t = transition.next_incoming;
        }
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
