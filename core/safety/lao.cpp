#include "safety/lao.h"

namespace misstep::safety {

void Lao::solve(StateId id, Radius radius, Meter &meter) {
    begin(radius);
    std::uint64_t before = 0;
    do {
        before = changes_;
        sweep(id, meter);
    } while (changes_ != before && !is_done(id));
    if (!is_done(id)) settle_reachable(id, chosen_);
}

// Backs the state up; true if its outcomes have to be visited.
bool Lao::enter(StateId id, Meter &meter) {
    if (is_done(id) || !seen_.insert(id)) return false;
    meter.tick();
    const Backup backup = this->backup(id);
    if (backup.action == UNSOLVED) return false;
    if (raise(id, backup.value)) ++changes_;
    if (backup.value >= cap_) return false;
    chosen_.at(id) = backup.action;
    frames_.push_back({id, backup.action, 0, changes_});
    return true;
}

void Lao::sweep(StateId id, Meter &meter) {
    frames_.clear();
    seen_.clear();
    enter(id, meter);
    while (!frames_.empty()) {
        Frame &frame = frames_.back();
        const std::span<const StateId> outcomes = system_.actions(frame.state).outcomes(frame.action);
        if (frame.next < outcomes.size()) {
            enter(outcomes[frame.next++], meter);
            continue;
        }
        if (frame.changes != changes_) {  // otherwise a second backup gives what the first gave
            meter.tick();
            if (raise(frame.state, backup(frame.state).value)) ++changes_;
        }
        frames_.pop_back();
    }
}

std::size_t Lao::bytes() const {
    return ValueDecider::bytes() + frames_.capacity() * sizeof(Frame) + seen_.bytes() + chosen_.bytes();
}

}  // namespace misstep::safety
