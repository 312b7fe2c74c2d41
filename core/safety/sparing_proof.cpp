#include "safety/sparing_proof.h"

#include <algorithm>

namespace misstep::safety {

SparingProof::SparingProof(System &system, std::span<const StateId> starts) : system_(system) {
    for (StateId start : starts) {
        if (numbers_[start] != NONE) continue;
        numbers_.at(start) = static_cast<Number>(states_.size());
        states_.push_back(start);
    }
    starts_ = states_.size();
}

Limit SparingProof::expand(LimitWatch &watch, Progress &progress) {
    for (Number s = static_cast<Number>(slots_.size() - 1); s < states_.size(); ++s) {
        const StateId state = states_[s];
        if (system_.kind(state) == Kind::open) {
            const Limit limit = watch.check(progress, [&] { return bytes(); });
            if (limit != Limit::none) return limit;
            ++progress.expansions;
            const Actions actions = system_.actions(state);
            for (std::uint32_t i = 0; i < actions.count(); ++i) {
                owners_.push_back(s);
                for (StateId outcome : actions.outcomes(i))
                    if (numbers_[outcome] == NONE) {
                        numbers_.at(outcome) = static_cast<Number>(states_.size());
                        states_.push_back(outcome);
                    }
            }
        }
        slots_.push_back(owners_.size());
    }
    return Limit::none;
}

void SparingProof::connect() {
    uses_.assign(states_.size() + 1, 0);
    const auto each = [&](auto &&visit) {
        for (Number s = 0; s < states_.size(); ++s) {
            if (slots_[s] == slots_[s + 1]) continue;
            const Actions actions = system_.actions(states_[s]);
            for (std::uint32_t i = 0; i < actions.count(); ++i)
                for (StateId outcome : actions.outcomes(i)) visit(numbers_[outcome], slots_[s] + i);
        }
    };
    each([&](Number outcome, std::uint64_t) { ++uses_[outcome + 1]; });
    for (std::size_t s = 0; s < states_.size(); ++s) uses_[s + 1] += uses_[s];
    users_.resize(uses_.back());
    std::vector<std::uint64_t> next(uses_.begin(), uses_.end() - 1);
    each([&](Number outcome, std::uint64_t slot) { users_[next[outcome]++] = static_cast<std::uint32_t>(slot); });
    asked_.assign(states_.size(), NO);
    choice_.assign(states_.size(), 0);
    parents_.assign(states_.size(), NONE);
    is_reached_.assign(states_.size(), 0);
}

bool SparingProof::is_permitted(std::uint64_t slot) const {
    const Number s = owners_[slot];
    return asked_[s] == NO || (asked_[s] == TAKES && slots_[s] + choice_[s] == slot);
}

void SparingProof::solve(bool may_stop) {
    worst_.assign(states_.size(), 0);
    lost_.assign(states_.size(), NONE);
    std::vector<Number> work;
    for (Number s = 0; s < states_.size(); ++s)
        if (system_.is_unsafe(states_[s])) work.push_back(s);
    // Worst case: backwards along all labels that may be taken.
    std::vector<Number> found(work);
    for (Number s : found) worst_[s] = 1;
    for (std::size_t i = 0; i < found.size(); ++i)
        for (std::uint64_t use = uses_[found[i]]; use < uses_[found[i] + 1]; ++use) {
            const Number before = owners_[users_[use]];
            if (worst_[before] != 0 || !is_permitted(users_[use])) continue;
            worst_[before] = 1;
            found.push_back(before);
        }
    // Best case: states that have no label left that stays out of lost states. A policy that may stop can always do that instead.
    std::vector<std::uint8_t> bad(owners_.size(), 0);
    std::vector<std::uint32_t> left(states_.size(), 0);
    for (Number s = 0; s < states_.size(); ++s)
        left[s] = asked_[s] == NO ? static_cast<std::uint32_t>(slots_[s + 1] - slots_[s]) + (may_stop ? 1 : 0) : 1;
    for (std::size_t i = 0; i < work.size(); ++i) lost_[work[i]] = static_cast<std::uint32_t>(i);
    for (std::size_t i = 0; i < work.size(); ++i)
        for (std::uint64_t use = uses_[work[i]]; use < uses_[work[i] + 1]; ++use) {
            const std::uint32_t slot = users_[use];
            const Number before = owners_[slot];
            if (bad[slot] != 0 || lost_[before] != NONE || !is_permitted(slot)) continue;
            bad[slot] = 1;
            if (--left[before] > 0) continue;
            lost_[before] = static_cast<std::uint32_t>(work.size());
            work.push_back(before);
        }
    solve_again_ = asked_count_ + asked_count_ / 2 + BATCH;
}

void SparingProof::reach(Number state, Number parent) {
    if (is_reached_[state] != 0) return;
    is_reached_[state] = 1;
    parents_[state] = parent;
    reached_.push_back(state);
}

void SparingProof::answered(Number state) {
    const LabelId label = system_.decision(states_[state]);
    ++asked_count_;
    const Actions actions = system_.actions(states_[state]);
    asked_[state] = STOPS;
    for (std::uint32_t i = 0; i < actions.count(); ++i)
        if (actions.label(i) == label) {
            asked_[state] = TAKES;
            choice_[state] = i;
        }
}

// Each label has an outcome that was found to be lost earlier than the state, and the states found first are unsafe.
void SparingProof::follow_lost(Number state) {
    while (!system_.is_unsafe(states_[state])) {
        if (asked_[state] == NO) answered(state);
        Number best = state;
        for (StateId outcome : system_.actions(states_[state]).outcomes(choice_[state]))
            if (lost_[numbers_[outcome]] < lost_[best]) best = numbers_[outcome];
        run_.push_back(state = best);
    }
}

Limit SparingProof::ask(std::span<const Number> questions, LimitWatch &watch, Progress &progress) {
    std::vector<StateId> ids;
    for (Number s : questions) ids.push_back(states_[s]);
    if (ids.size() > 1) system_.prepare(ids);
    for (Number s : questions) {
        const Limit limit = watch.check(progress, [&] { return bytes(); });
        if (limit != Limit::none) return limit;
        answered(s);
        ++progress.evaluations;
    }
    return Limit::none;
}

Limit SparingProof::run(const Limits &limits) {
    LimitWatch watch(limits);
    Progress progress;
    if (const Limit limit = expand(watch, progress); limit != Limit::none) return limit;
    connect();
    solve();
    for (Number s = 0; s < starts_; ++s) reach(s, NONE);
    std::size_t next = 0, taken = 0;
    std::vector<Number> waiting, questions;  // the first `taken` entries of `waiting` have been asked
    while (true) {
        for (; next < reached_.size(); ++next) {
            const Number s = reached_[next];
            if (lost_[s] != NONE) {
                for (Number i = s; i != NONE; i = parents_[i]) run_.push_back(i);
                std::reverse(run_.begin(), run_.end());
                follow_lost(s);
                end_ = End::unsafe;
                return Limit::none;
            }
            if (asked_[s] == NO && worst_[s] != 0) waiting.push_back(s);
        }
        questions.clear();
        for (; taken < waiting.size() && questions.size() < BATCH; ++taken)
            if (worst_[waiting[taken]] != 0) questions.push_back(waiting[taken]);
        if (questions.empty()) {
            end_ = End::safe;
            return Limit::none;
        }
        if (const Limit limit = ask(questions, watch, progress); limit != Limit::none) return limit;
        for (Number s : questions)
            if (asked_[s] == TAKES)
                for (StateId outcome : system_.actions(states_[s]).outcomes(choice_[s])) reach(numbers_[outcome], s);
        if (asked_count_ >= solve_again_) {
            solve();
            for (Number s : reached_)  // a state that was reached before may be known to be lost now
                if (lost_[s] != NONE) next = 0;
        }
    }
}

Limit SparingProof::explore(const Limits &limits) {
    LimitWatch watch(limits);
    Progress progress;
    if (const Limit limit = expand(watch, progress); limit != Limit::none) return limit;
    connect();
    solve(false);  // a strategy has to act
    return Limit::none;
}

void SparingProof::lost_certificate(std::vector<StateId> &states, std::vector<std::uint32_t> &ranks) {
    std::vector<Number> members;
    const auto add = [&](Number s) {
        if (is_reached_[s] != 0) return;
        is_reached_[s] = 1;
        members.push_back(s);
    };
    for (Number s = 0; s < starts_; ++s)
        if (lost_[s] != NONE) add(s);
    for (std::size_t i = 0; i < members.size(); ++i) {
        const Number s = members[i];
        states.push_back(states_[s]);
        ranks.push_back(lost_[s]);
        if (system_.is_unsafe(states_[s])) continue;
        const Actions actions = system_.actions(states_[s]);
        for (std::uint32_t k = 0; k < actions.count(); ++k) {
            Number best = s;
            for (StateId outcome : actions.outcomes(k))
                if (lost_[numbers_[outcome]] < lost_[best]) best = numbers_[outcome];
            add(best);
        }
    }
}

std::vector<StateId> SparingProof::unsafe_run() const {
    std::vector<StateId> run;
    for (Number s : run_) run.push_back(states_[s]);
    return run;
}

void SparingProof::certificate(std::vector<StateId> &states, std::vector<LabelId> &labels) {
    // The states that were reached, and everything that unasked states can reach. None of it can reach an unsafe state even in
    // the worst case.
    std::vector<Number> members(reached_);
    std::vector<std::uint8_t> seen(is_reached_);
    const auto add = [&](std::span<const StateId> outcomes) {
        for (StateId outcome : outcomes)
            if (Number t = numbers_[outcome]; seen[t] == 0) {
                seen[t] = 1;
                members.push_back(t);
            }
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
        const Number s = members[i];
        LabelId label = NO_LABEL;
        if (slots_[s] < slots_[s + 1] && asked_[s] != STOPS) {
            const Actions actions = system_.actions(states_[s]);
            if (asked_[s] == TAKES) {
                label = actions.label(choice_[s]);
                add(actions.outcomes(choice_[s]));
            } else {
                label = ANY;
                for (std::uint32_t k = 0; k < actions.count(); ++k) add(actions.outcomes(k));
            }
        }
        states.push_back(states_[s]);
        labels.push_back(label);
    }
}

std::size_t SparingProof::bytes() const {
    const std::size_t states = states_.capacity();
    return system_.bytes() + system_.transitions().bytes() + numbers_.bytes() +
           states * (sizeof(StateId) + 5 * sizeof(std::uint32_t) + 4) + slots_.capacity() * sizeof(std::uint64_t) +
           uses_.capacity() * sizeof(std::uint64_t) + (owners_.capacity() + users_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace misstep::safety
