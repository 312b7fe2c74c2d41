#include "bounds/derived_bounds.h"

#include "base/contradiction.h"
#include "base/interrupt.h"

namespace misstep {

namespace {

[[noreturn]] void throw_contradiction() {
    throw Contradiction("a dominance function proves that a plan costs less than nothing");
}

}  // namespace

void DerivedBounds::add_jump(StateId state, StateId source, Cost value) {
    const auto number = static_cast<std::uint32_t>(jumps_.size());
    const auto [place, fresh] = told_.emplace(static_cast<std::uint64_t>(state) << 32 | source, number);
    if (!fresh && jumps_[place->second].value >= value) return;
    place->second = number;
    bounds_.resize(std::max<std::size_t>(bounds_.size(), graph_.size()));
    jumps_.push_back({state, source, value, bounds_[source].jumps_here});
    bounds_[source].jumps_here = number;
}

void DerivedBounds::improve(StateId id, Cost cost, TransitionId by, std::uint32_t jump) {
    if (cost >= this->cost(id)) return;
    if (cost < 0) throw_contradiction();
    Bound &bound = bounds_[id];
    bound.cost = cost;
    bound.by = by;
    bound.jump = jump;
    queue_.push_back(id);
}

void DerivedBounds::relax_jump(std::uint32_t number) {
    const Jump &jump = jumps_[number];
    const Cost cost = this->cost(jump.source);
    if (cost < INFINITE_COST) improve(jump.state, cost - jump.value, NO_TRANSITION, number);
}

void DerivedBounds::relax_transition(TransitionId id) {
    const TransitionCache::Transition &transition = graph_.transition(id);
    if (!is_derived(transition.target) || graph_.is_goal(transition.source)) return;
    improve(transition.source, graph_.task().cost(transition.op) + bounds_[transition.target].cost, id, NONE);
}

void DerivedBounds::update() {
    if (jumps_.empty()) return;
    bounds_.resize(std::max<std::size_t>(bounds_.size(), graph_.size()));
    // GoalDistances has propagated a cheaper plan along transitions already, so only the jumps have to be relaxed again.
    if (plans_seen_ != plans_.revision()) {
        plans_seen_ = plans_.revision();
        for (std::uint32_t jump = 0; jump < jumps_.size(); ++jump) relax_jump(jump);
        relaxed_jumps_ = static_cast<std::uint32_t>(jumps_.size());
    }
    for (; relaxed_jumps_ < jumps_.size(); ++relaxed_jumps_) relax_jump(relaxed_jumps_);
    for (; taken_in_ < graph_.transition_count(); ++taken_in_) relax_transition(taken_in_);
    propagate();
}

// Each pass handles the states that the last one has improved. A path without a cycle has fewer steps than there are
// states, so improvements after more passes come from a cycle of negative weight. Each round of it may lower the bounds by
// as little as 1, and a jump may have raised them to any height, so waiting for a bound below 0 could take for ever.
void DerivedBounds::propagate() {
    std::size_t passes = 0, left = queue_.size();
    while (!queue_.empty()) {
        let_interrupt();
        if (left == 0) {
            left = queue_.size();
            if (++passes > bounds_.size()) throw_contradiction();
        }
        const StateId id = queue_.front();
        queue_.pop_front();
        --left;
        for (TransitionId t = graph_.last_incoming(id); t != NO_TRANSITION; t = graph_.transition(t).next_incoming)
            relax_transition(t);
        for (std::uint32_t jump = bounds_[id].jumps_here; jump != NONE; jump = jumps_[jump].next_of_source)
            relax_jump(jump);
    }
}

DerivedBounds::Step DerivedBounds::step(StateId id) const {
    const Bound &bound = bounds_[id];
    if (bound.jump != NONE) return {NO_OPERATOR, jumps_[bound.jump].source, jumps_[bound.jump].value};
    const TransitionCache::Transition &transition = graph_.transition(bound.by);
    return {transition.op, transition.target, 0};
}

std::vector<DerivedBounds::Step> DerivedBounds::derivation(StateId id) const {
    std::vector<Step> steps;
    while (is_derived(id)) {
        steps.push_back(step(id));
        id = steps.back().target;
    }
    std::vector<StateId> states;
    plans_.path(id, states);
    const Plan plan = plans_.plan(id);
    for (std::size_t i = 0; i < plan.size(); ++i) steps.push_back({plan[i], states[i + 1], 0});
    return steps;
}

std::size_t DerivedBounds::bytes() const {
    // A node of the map: the pair, a link, and its bucket.
    const std::size_t told = told_.size() * (sizeof(*told_.begin()) + 2 * sizeof(void *));
    return told + jumps_.capacity() * sizeof(Jump) + bounds_.capacity() * sizeof(Bound);
}

}  // namespace misstep
