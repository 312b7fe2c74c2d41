#include "safety/local_fix.h"

namespace misstep::safety {

void LocalFix::push(StateId id) {
    if (in_work_.insert(id)) work_.push_back(id);
}

void LocalFix::visit(StateId id) {
    if (!is_done(id) && seen_.insert(id)) push(id);
}

void LocalFix::add_dependent(StateId on, StateId state) {
    std::uint32_t &head = dependents_.at(on);
    if (has_dependents_.insert(on)) head = NONE;
    if (head != NONE && pool_[head].state == state) return;
    pool_.push_back({state, head});
    head = static_cast<std::uint32_t>(pool_.size() - 1);
}

void LocalFix::wake_dependents(StateId of) {
    if (!has_dependents_.contains(of)) return;
    for (std::uint32_t i = dependents_[of]; i != NONE; i = pool_[i].next) push(pool_[i].state);
    has_dependents_.erase(of);
}

void LocalFix::solve(StateId id, Radius radius, Meter &meter) {
    begin(radius);
    work_.clear();
    pool_.clear();
    in_work_.clear();
    seen_.clear();
    has_dependents_.clear();

    visit(id);
    while (!work_.empty()) {
        meter.tick();
        const StateId state = work_.back();
        work_.pop_back();
        in_work_.erase(state);
        const Backup backup = this->backup(state);
        if (backup.action == UNSOLVED) continue;  // a dead end, as it turns out
        if (raise(state, backup.value)) {
            wake_dependents(state);
            if (backup.value < cap_) push(state);  // its own value may be an outcome of its own choice
            if (state == id && backup.value >= cap_) return;
            continue;
        }
        if (backup.value >= cap_) continue;
        chosen_.at(state) = backup.action;
        for (StateId outcome : system_.actions(state).outcomes(backup.action)) {
            if (is_done(outcome)) continue;  // its bound does not grow any more
            add_dependent(outcome, state);
            visit(outcome);
        }
    }
    settle_reachable(id, chosen_);
}

std::size_t LocalFix::bytes() const {
    return ValueDecider::bytes() + work_.capacity() * sizeof(StateId) + in_work_.bytes() + seen_.bytes() + chosen_.bytes() +
           has_dependents_.bytes() + dependents_.bytes() + pool_.capacity() * sizeof(Dependent);
}

}  // namespace misstep::safety
