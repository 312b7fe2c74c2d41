#include "safety/value_decider.h"

#include <algorithm>

namespace misstep::safety {

ValueDecider::Backup ValueDecider::backup(StateId id) {
    const Actions actions = system_.actions(id);
    if (actions.count() == 0) return {0, UNSOLVED};
    const Ranking ranking = system_.ranking(id, bounded_);
    const LabelId policy = bounded_ ? system_.decision(id) : NO_LABEL;
    const std::uint32_t bound = value(id);
    Backup best{cap_ + 1, UNSOLVED};
    for (std::uint32_t rank = 0; rank < actions.count(); ++rank) {
        const std::uint32_t action = ranking[rank];
        const std::uint32_t cost = bounded_ && actions.label(action) != policy ? 1 : 0;
        std::uint32_t worst = cost;
        for (StateId outcome : actions.outcomes(action)) {
            worst = std::max(worst, cost + value(outcome));
            if (worst >= best.value) break;
        }
        worst = std::min(worst, cap_);  // where the policy stops, every label may cost more than the cap
        if (worst >= best.value) continue;
        best = {worst, action};
        if (worst <= bound) break;
    }
    return best;
}

bool ValueDecider::raise(StateId id, std::uint32_t value) {
    if (value <= this->value(id)) return false;
    (bounded_ ? bounded_table_ : unbounded_table_).bounds.at(id) = value;
    return true;
}

void ValueDecider::settle_reachable(StateId id, const PerState<std::uint32_t> &actions) {
    open_.assign(1, id);
    while (!open_.empty()) {
        const StateId state = open_.back();
        open_.pop_back();
        if (is_done(state)) continue;
        const std::uint32_t action = actions[state];
        if (action >= system_.actions(state).count())
            throw std::logic_error("a state without a choice was taken for solved");
        settle(state, action);
        for (StateId outcome : system_.actions(state).outcomes(action)) open_.push_back(outcome);
    }
}

Facts ValueDecider::stored(StateId id) const {
    Facts facts;
    facts.lower = bounded_table_.bounds[id];
    if (bounded_table_.actions[id] != UNSOLVED) facts.upper = facts.lower;
    facts.lost = unbounded_table_.bounds[id] != 0;
    facts.safe = facts.upper < UNBOUNDED || unbounded_table_.actions[id] != UNSOLVED;
    return facts;
}

std::uint32_t ValueDecider::choice(StateId id, bool) {
    // The label of a state that is solved within a radius leads to such states only, so following these labels is consistent.
    const std::uint32_t bounded = bounded_table_.actions[id];
    return bounded != UNSOLVED ? bounded : unbounded_table_.actions[id];
}

void ValueDecider::forget_policy() {
    // A strategy with few deviations from the old policy is still a safe strategy, with an unknown number of deviations.
    std::vector<std::uint32_t> &solved = bounded_table_.actions.entries();
    for (StateId id = 0; id < solved.size(); ++id)
        if (solved[id] != UNSOLVED) unbounded_table_.actions.at(id) = solved[id];
    bounded_table_.actions.clear();
    bounded_table_.bounds.clear();
}

std::size_t ValueDecider::bytes() const {
    return bounded_table_.bounds.bytes() + bounded_table_.actions.bytes() + unbounded_table_.bounds.bytes() +
           unbounded_table_.actions.bytes();
}

}  // namespace misstep::safety
