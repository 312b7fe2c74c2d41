#include "safety/local_fix.h"

namespace misstep::safety {

LocalFix::Scratch &LocalFix::scratch(StateId id) {
    Scratch &scratch = scratch_.at(id);
    if (touched_.insert(id)) scratch = {0, NONE};
    return scratch;
}

void LocalFix::push(StateId id) {
    if (in_work_.insert(id)) work_.push_back(id);
}

void LocalFix::wake_dependents(StateId of) {
    Scratch &scratch = this->scratch(of);
    for (std::uint32_t i = scratch.dependents; i != NONE; i = pool_[i].next) push(pool_[i].state);
    scratch.dependents = NONE;
}

void LocalFix::release(StateId id) {
    if (!has_choice_.contains(id)) return;
    for (StateId outcome : system_.actions(id).outcomes(chosen_[id])) --scratch(outcome).demand;
    has_choice_.erase(id);
}

void LocalFix::choose(StateId id, std::uint32_t action) {
    const bool is_new = !has_choice_.contains(id) || chosen_[id] != action;
    if (is_new) {
        release(id);
        has_choice_.insert(id);
        chosen_.at(id) = action;
    }
    const std::span<const StateId> outcomes = system_.actions(id).outcomes(action);
    for (std::size_t i = outcomes.size(); i-- > 0;) {  // so that the first one is on top
        const StateId outcome = outcomes[i];
        Scratch &scratch = this->scratch(outcome);
        if (is_new) ++scratch.demand;
        if (is_done(outcome)) continue;  // its bound does not grow any more
        if (scratch.dependents == NONE || pool_[scratch.dependents].state != id) {
            pool_.push_back({id, scratch.dependents});
            scratch.dependents = static_cast<std::uint32_t>(pool_.size() - 1);
        }
        // A state that waits for its first evaluation moves to the top, because the current choice needs it now.
        if (seen_.insert(outcome) || (in_work_.contains(outcome) && !has_choice_.contains(outcome))) {
            in_work_.insert(outcome);
            work_.push_back(outcome);
        }
    }
}

void LocalFix::solve(StateId id, Radius radius, Meter &meter) {
    begin(radius);
    work_.clear();
    pool_.clear();
    in_work_.clear();
    seen_.clear();
    touched_.clear();
    has_choice_.clear();

    scratch(id).demand = 1;
    seen_.insert(id);
    push(id);
    while (!work_.empty()) {
        const StateId state = work_.back();
        work_.pop_back();
        if (!in_work_.contains(state)) continue;  // has been evaluated since
        in_work_.erase(state);
        if (scratch(state).demand == 0) {
            seen_.erase(state);  // if it is chosen again, it is pushed again
            continue;
        }
        meter.tick();
        const Backup backup = this->backup(state);
        if (backup.action == UNSOLVED) continue;  // the backup has found a dead end
        if (raise(state, backup.value)) {
            release(state);
            if (backup.value >= cap_ && state == id) return;
            // The state may be an outcome of its own choice, so it is evaluated again, after the states that depend on it.
            if (backup.value < cap_) push(state);
            wake_dependents(state);
        } else if (backup.value < cap_) {
            choose(state, backup.action);
        }
    }
    settle_reachable(id, chosen_);
}

std::size_t LocalFix::bytes() const {
    return ValueDecider::bytes() + work_.capacity() * sizeof(StateId) + in_work_.bytes() + seen_.bytes() +
           touched_.bytes() + scratch_.bytes() + has_choice_.bytes() + chosen_.bytes() +
           pool_.capacity() * sizeof(Dependent);
}

}  // namespace misstep::safety
