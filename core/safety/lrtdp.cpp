#include "safety/lrtdp.h"

namespace misstep::safety {

void Lrtdp::solve(StateId id, Radius radius, Meter &meter) {
    begin(radius);
    // The stream is not the id of the state: ids depend on which states were met before, and the answer must not.
    CounterRandom random(seed_, questions_++);
    while (!is_done(id)) {
        trial(id, random, meter);
        while (!trial_.empty()) {
            const StateId state = trial_.back();
            trial_.pop_back();
            // States earlier in the trial may be decided by a state that has just been found to be lost.
            if (!check(state, meter) && !is_done(state)) break;
        }
    }
}

void Lrtdp::trial(StateId id, CounterRandom &random, Meter &meter) {
    trial_.clear();
    passed_.clear();
    while (!is_done(id) && passed_.insert(id)) {
        trial_.push_back(id);
        meter.tick();
        const Backup backup = this->backup(id);
        if (backup.action == UNSOLVED) return;  // a dead end
        raise(id, backup.value);
        const std::span<const StateId> outcomes = system_.actions(id).outcomes(backup.action);
        id = outcomes[random.below(outcomes.size())];
    }
}

// True if there is nothing left to find out about the state.
bool Lrtdp::check(StateId id, Meter &meter) {
    if (is_done(id)) return true;
    bool consistent = true;
    closed_.clear();
    marked_.clear();
    marked_.insert(id);
    open_.assign(1, id);
    while (!open_.empty()) {
        const StateId state = open_.back();
        open_.pop_back();
        meter.tick();
        const Backup backup = this->backup(state);
        if (backup.action == UNSOLVED) continue;
        closed_.push_back(state);
        if (backup.value > value(state)) {
            consistent = false;
            continue;
        }
        chosen_.at(state) = backup.action;
        for (StateId outcome : system_.actions(state).outcomes(backup.action))
            if (!is_done(outcome) && marked_.insert(outcome)) open_.push_back(outcome);
    }
    if (consistent) {
        for (StateId state : closed_) settle(state, chosen_[state]);
        return true;
    }
    for (auto state = closed_.rbegin(); state != closed_.rend(); ++state) {
        meter.tick();
        raise(*state, backup(*state).value);
    }
    return false;
}

std::size_t Lrtdp::bytes() const {
    return ValueDecider::bytes() + passed_.bytes() + marked_.bytes() + chosen_.bytes() +
           (trial_.capacity() + open_.capacity() + closed_.capacity()) * sizeof(StateId);
}

}  // namespace misstep::safety
