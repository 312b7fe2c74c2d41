#include "safety/value_iteration.h"

#include <algorithm>

namespace misstep::safety {

bool ValueIteration::is_covered(StateId id, Radius radius) const {
    return radius == UNBOUNDED ? fates_[id] != 0 : caps_[id] > radius;
}

void ValueIteration::explore(StateId id, Radius radius, Meter &meter) {
    nodes_.assign(1, id);
    reached_.clear();
    reached_.insert(id);
    positions_.at(id) = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const StateId state = nodes_[i];
        if (system_.kind(state) != Kind::open || is_covered(state, radius)) continue;
        meter.tick();
        const Actions actions = system_.actions(state);
        for (std::uint32_t action = 0; action < actions.count(); ++action)
            for (StateId outcome : actions.outcomes(action))
                if (reached_.insert(outcome)) {
                    positions_.at(outcome) = static_cast<std::uint32_t>(nodes_.size());
                    nodes_.push_back(outcome);
                }
    }
}

// For each node, the labels that may lead to it.
void ValueIteration::link() {
    const auto each = [&](auto &&visit) {
        for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
            if (live_[node] == 0) continue;
            const Actions actions = system_.actions(nodes_[node]);
            for (std::uint32_t action = 0; action < actions.count(); ++action)
                for (StateId outcome : actions.outcomes(action)) visit(positions_[outcome], Edge{node, action});
        }
    };
    offsets_.assign(nodes_.size() + 1, 0);
    each([&](std::uint32_t target, Edge) { ++offsets_[target + 1]; });
    for (std::size_t i = 1; i < offsets_.size(); ++i) offsets_[i] += offsets_[i - 1];
    edges_.resize(offsets_.back());
    std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
    each([&](std::uint32_t target, Edge edge) { edges_[next[target]++] = edge; });
}

void ValueIteration::solve(StateId id, Radius radius, Meter &meter) {
    explore(id, radius, meter);
    const bool bounded = radius != UNBOUNDED;
    const std::uint32_t cap = bounded ? radius + 1 : 1;
    level_.assign(nodes_.size(), 0);
    live_.assign(nodes_.size(), 0);  // labels that are not lost; 0 for nodes whose value is known
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const StateId state = nodes_[i];
        const Kind kind = system_.kind(state);
        if (kind == Kind::unsafe) level_[i] = cap;
        else if (kind != Kind::open) continue;
        else if (is_covered(state, radius)) level_[i] = bounded ? std::min(values_[state], cap) : fates_[state] - 1U;
        else live_[i] = system_.actions(state).count();
    }
    link();
    if (bounded) grow(cap, meter);
    else find_lost(meter);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const StateId state = nodes_[i];
        if (system_.kind(state) != Kind::open || is_covered(state, radius)) continue;
        if (bounded) {
            values_.at(state) = level_[i];
            caps_.at(state) = cap;
        } else {
            fates_.at(state) = level_[i] == 0 ? 1 : 2;
        }
    }
}

void ValueIteration::find_lost(Meter &meter) {
    std::vector<std::uint32_t> lost;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
        if (level_[i] != 0) lost.push_back(i);
    std::vector<std::size_t> first(nodes_.size() + 1, 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) first[i + 1] = first[i] + live_[i];
    std::vector<bool> dead(first.back());
    while (!lost.empty()) {
        meter.tick();
        const std::uint32_t node = lost.back();
        lost.pop_back();
        for (std::uint32_t e = offsets_[node]; e < offsets_[node + 1]; ++e) {
            const auto [source, action] = edges_[e];
            if (level_[source] != 0 || dead[first[source] + action]) continue;
            dead[first[source] + action] = true;
            if (--live_[source] != 0) continue;
            level_[source] = 1;
            lost.push_back(source);
        }
    }
}

void ValueIteration::grow(std::uint32_t cap, Meter &meter) {
    std::vector<std::uint32_t> work;
    std::vector<char> in_work(nodes_.size(), 0);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
        if (live_[i] != 0) {
            work.push_back(i);
            in_work[i] = 1;
        }
    while (!work.empty()) {
        meter.tick();
        const std::uint32_t node = work.back();
        work.pop_back();
        in_work[node] = 0;
        const StateId state = nodes_[node];
        const Actions actions = system_.actions(state);
        const LabelId policy = system_.decision(state);
        std::uint32_t best = cap;
        for (std::uint32_t action = 0; action < actions.count(); ++action) {
            const std::uint32_t cost = actions.label(action) == policy ? 0 : 1;
            std::uint32_t worst = 0;
            for (StateId outcome : actions.outcomes(action)) worst = std::max(worst, level_[positions_[outcome]]);
            best = std::min(best, cost + worst);
        }
        if (best <= level_[node]) continue;
        level_[node] = best;
        for (std::uint32_t e = offsets_[node]; e < offsets_[node + 1]; ++e) {
            const std::uint32_t source = edges_[e].node;
            if (level_[source] < cap && !in_work[source]) {
                in_work[source] = 1;
                work.push_back(source);
            }
        }
    }
}

Facts ValueIteration::stored(StateId id) const {
    Facts facts;
    facts.lower = values_[id];
    if (values_[id] < caps_[id]) facts.upper = values_[id];
    facts.lost = fates_[id] == 2;
    facts.safe = fates_[id] == 1;
    return facts;
}

std::uint32_t ValueIteration::known_value(StateId id) {
    switch (system_.kind(id)) {
        case Kind::unsafe: return NOT_KNOWN;
        case Kind::open: return values_[id] < caps_[id] ? values_[id] : NOT_KNOWN;
        default: return 0;
    }
}

// Any label that attains the value is safe to take: values never grow along it, and shrink with each deviation.
std::uint32_t ValueIteration::choice(StateId id, bool bounded) {
    const Actions actions = system_.actions(id);
    bounded = bounded || fates_[id] != 1;
    const Ranking ranking = system_.ranking(id, bounded);
    const LabelId policy = bounded ? system_.decision(id) : NO_LABEL;
    for (std::uint32_t rank = 0; rank < actions.count(); ++rank) {
        const std::uint32_t action = ranking[rank];
        const std::uint32_t cost = actions.label(action) == policy ? 0 : 1;
        const std::span<const StateId> outcomes = actions.outcomes(action);
        const bool good = std::all_of(outcomes.begin(), outcomes.end(), [&](StateId outcome) {
            if (bounded) return known_value(outcome) != NOT_KNOWN && cost + known_value(outcome) <= values_[id];
            return known(outcome, UNBOUNDED) == Answer::safe;
        });
        if (good) return action;
    }
    throw std::invalid_argument("the state is not known to be safe");
}

void ValueIteration::forget_policy() {
    // A strategy with few deviations from the old policy is still a safe strategy, with an unknown number of deviations.
    std::vector<std::uint32_t> &values = values_.entries();
    for (StateId id = 0; id < values.size(); ++id)
        if (values[id] < caps_[id]) fates_.at(id) = 1;
    values_.clear();
    caps_.clear();
}

std::size_t ValueIteration::bytes() const {
    return values_.bytes() + caps_.bytes() + fates_.bytes() + reached_.bytes() + positions_.bytes() +
           nodes_.capacity() * sizeof(StateId) +
           (offsets_.capacity() + level_.capacity() + live_.capacity()) * sizeof(std::uint32_t) +
           edges_.capacity() * sizeof(Edge);
}

}  // namespace misstep::safety
