#include "safety/closure.h"

#include <algorithm>

namespace misstep::safety {

void Closure::add(StateId state, std::uint32_t parent) {
    if (!seen_.insert(state)) return;
    if (system_.is_unsafe(state)) unsafe_.push_back(static_cast<std::uint32_t>(states_.size()));
    states_.push_back(state);
    parents_.push_back(parent);
}

void Closure::add_starts(std::span<const StateId> starts) {
    for (StateId start : starts) add(start, START);
    starts_ = states_.size();
}

Limit Closure::explore(const Limits &limits, bool stop) {
    LimitWatch watch(limits);
    Progress progress;
    const std::size_t unsafe_before = stop && next_ == 0 ? 0 : unsafe_.size();
    const auto is_over = [&] { return stop && unsafe_.size() > unsafe_before; };
    while (next_ < states_.size() && !is_over()) {
        if (next_ >= prepared_) {
            const std::size_t size = std::min(BATCH, states_.size() - next_);
            prepared_ = next_ + size;
            if (size > 1) system_.prepare(std::span<const StateId>(states_).subspan(next_, size));
        }
        const StateId state = states_[next_];
        const Kind kind = system_.kind(state);
        if (kind == Kind::open) {
            const Limit limit = watch.check(progress, [&] { return bytes(); });
            if (limit != Limit::none) return limit;
            ++progress.expansions;
            const std::span<const StateId> outcomes = system_.policy_outcomes(state);
            if (outcomes.empty()) ++(system_.kind(state) == Kind::dead_end ? dead_ends_ : stops_);
            for (StateId outcome : outcomes) add(outcome, static_cast<std::uint32_t>(next_));
        } else if (kind == Kind::goal) {
            ++goals_;
        } else if (kind == Kind::dead_end) {
            ++dead_ends_;
        }
        ++next_;
    }
    return Limit::none;
}

std::vector<LabelId> Closure::labels() {
    std::vector<LabelId> result;
    result.reserve(states_.size());
    for (std::size_t i = 0; i < states_.size(); ++i)
        result.push_back(i < next_ && system_.kind(states_[i]) == Kind::open ? system_.decision(states_[i]) : NO_LABEL);
    return result;
}

std::vector<StateId> Closure::unsafe_run() const {
    std::vector<StateId> run;
    if (unsafe_.empty()) return run;
    for (std::uint32_t i = unsafe_.front(); i != START; i = parents_[i]) run.push_back(states_[i]);
    std::reverse(run.begin(), run.end());
    return run;
}

std::vector<StateId> Closure::unsafe_starts() {
    PerState<std::uint32_t> positions(START);
    for (std::size_t i = 0; i < states_.size(); ++i) positions.at(states_[i]) = static_cast<std::uint32_t>(i);
    const auto outcomes_of = [&](std::size_t i) {
        return system_.kind(states_[i]) == Kind::open ? system_.policy_outcomes(states_[i])
                                                      : std::span<const StateId>{};
    };
    // For every state, its predecessors under the policy.
    std::vector<std::uint64_t> offsets(states_.size() + 1, 0);
    for (std::size_t i = 0; i < next_; ++i)
        for (StateId outcome : outcomes_of(i)) ++offsets[positions[outcome] + 1];
    for (std::size_t i = 0; i < states_.size(); ++i) offsets[i + 1] += offsets[i];
    std::vector<std::uint32_t> before(offsets.back());
    std::vector<std::uint64_t> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t i = 0; i < next_; ++i)
        for (StateId outcome : outcomes_of(i)) before[next[positions[outcome]]++] = static_cast<std::uint32_t>(i);

    std::vector<std::uint8_t> bad(states_.size(), 0);
    std::vector<std::uint32_t> work(unsafe_);
    for (std::uint32_t i : work) bad[i] = 1;
    while (!work.empty()) {
        const std::uint32_t i = work.back();
        work.pop_back();
        for (std::uint64_t edge = offsets[i]; edge < offsets[i + 1]; ++edge)
            if (bad[before[edge]] == 0) {
                bad[before[edge]] = 1;
                work.push_back(before[edge]);
            }
    }
    std::vector<StateId> found;
    for (std::size_t i = 0; i < starts_; ++i)
        if (bad[i] != 0) found.push_back(states_[i]);
    return found;
}

std::size_t Closure::bytes() const {
    return system_.bytes() + system_.transitions().bytes() + states_.capacity() * sizeof(StateId) +
           (parents_.capacity() + unsafe_.capacity()) * sizeof(std::uint32_t) + seen_.bytes();
}

}  // namespace misstep::safety
