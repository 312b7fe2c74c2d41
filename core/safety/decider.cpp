#include "safety/decider.h"

namespace misstep::safety {

const char *name(Answer answer) {
    switch (answer) {
        case Answer::safe: return "safe";
        case Answer::not_safe: return "not safe";
        case Answer::unknown: return "unknown";
    }
    return "unknown";
}

Progress Decider::Meter::progress() {
    progress_.expansions = decider_.system_.expansions() - expansions_;
    progress_.bytes = decider_.bytes() + decider_.system_.bytes();
    progress_.seconds = watch_.seconds();
    return progress_;
}

void Decider::follow_policy() {
    if (policy_version_ == system_.policy_version()) return;
    policy_version_ = system_.policy_version();
    forget_policy();
}

Facts Decider::facts(StateId id) {
    follow_policy();
    return stored(id);
}

Answer Decider::known(StateId id, Radius radius) {
    follow_policy();
    switch (system_.kind(id)) {
        case Kind::unsafe: return Answer::not_safe;
        case Kind::goal:
        case Kind::dead_end: return Answer::safe;
        default: break;
    }
    const Facts facts = stored(id);
    if (facts.lost) return Answer::not_safe;
    if (radius == UNBOUNDED) return facts.safe || facts.upper < UNBOUNDED ? Answer::safe : Answer::unknown;
    if (facts.upper <= radius) return Answer::safe;
    return facts.lower > radius ? Answer::not_safe : Answer::unknown;
}

Decision Decider::decide(StateId id, Radius radius, const Limits &limits) {
    Decision decision;
    Meter meter(*this, limits);
    const std::uint64_t policy_calls = system_.policy_calls();
    decision.answer = known(id, radius);
    if (decision.answer != Answer::unknown) return decision;
    if (radius != UNBOUNDED && !system_.has_policy()) throw PolicyError("deviations need a policy to deviate from");
    try {
        solve(id, radius, meter);
    } catch (const Meter::Stop &stop) {
        decision.limit = stop.limit;
    }
    decision.answer = known(id, radius);
    if (decision.answer != Answer::unknown) decision.limit = Limit::none;
    decision.progress = meter.progress();
    decision.policy_calls = system_.policy_calls() - policy_calls;
    return decision;
}

void Decider::adopt_lost(Decider &other) {
    if (&other.system_ != &system_) throw std::invalid_argument("the deciders are of different systems");
    const StateId size = system_.known_states();
    for (StateId id = 0; id < size; ++id)
        if (other.stored(id).lost) lose(id);
}

namespace {

void add(Decision &sum, const Decision &part) {
    sum.answer = part.answer;
    sum.limit = part.limit;
    sum.progress.evaluations += part.progress.evaluations;
    sum.progress.expansions += part.progress.expansions;
    sum.progress.seconds += part.progress.seconds;
    sum.progress.bytes = part.progress.bytes;
    sum.policy_calls += part.policy_calls;
}

}  // namespace

Radius Decider::smallest_radius(StateId id, Radius largest, const Limits &limits, Decision &decision) {
    decision = {};
    add(decision, decide(id, largest, limits));
    if (decision.answer == Answer::unknown) return NOT_KNOWN;
    if (decision.answer == Answer::not_safe) {
        if (largest == UNBOUNDED) return NOT_KNOWN;
        add(decision, decide(id, UNBOUNDED, limits));
        return decision.answer == Answer::safe ? UNBOUNDED : NOT_KNOWN;
    }
    if (largest == UNBOUNDED) return UNBOUNDED;
    if (system_.kind(id) != Kind::open) return 0;
    // Most deciders know the value by now. For the others, radii are tried in increasing order, since small ones are cheap.
    for (Facts now = stored(id); now.lower < now.upper; now = stored(id)) {
        add(decision, decide(id, now.lower, limits));
        if (decision.answer == Answer::unknown) return NOT_KNOWN;
    }
    decision.answer = Answer::safe;
    return stored(id).upper;
}

std::vector<Step> Decider::strategy(std::span<const StateId> ids, Radius radius) {
    std::vector<Step> steps;
    std::vector<StateId> open;
    Stamps seen;
    for (StateId id : ids) {
        if (known(id, radius) != Answer::safe) throw std::invalid_argument("a state is not known to be safe");
        if (seen.insert(id)) open.push_back(id);
    }
    while (!open.empty()) {
        const StateId state = open.back();
        open.pop_back();
        if (system_.kind(state) != Kind::open) continue;
        const Actions actions = system_.actions(state);
        if (actions.count() == 0) continue;
        const std::uint32_t action = choice(state, radius != UNBOUNDED);
        steps.push_back({state, actions.label(action)});
        for (StateId outcome : actions.outcomes(action))
            if (seen.insert(outcome)) open.push_back(outcome);
    }
    return steps;
}

}  // namespace misstep::safety
