#include "janisafety/ground_truth.h"

#include <algorithm>

namespace misstep::safety {

namespace {

// For every state, the labels (as positions in the space) that have it as an outcome.
struct Uses {
    explicit Uses(const jani::Space &space) : offsets(space.size() + 1, 0), positions(space.outcomes().size()) {
        for (StateId outcome : space.outcomes()) ++offsets[outcome + 1];
        for (std::size_t s = 0; s < space.size(); ++s) offsets[s + 1] += offsets[s];
        std::vector<std::uint64_t> next(offsets.begin(), offsets.end() - 1);
        for (std::size_t i = 0; i + 1 < space.outcome_offsets().size(); ++i)
            for (std::uint64_t o = space.outcome_offsets()[i]; o < space.outcome_offsets()[i + 1]; ++o)
                positions[next[space.outcomes()[o]]++] = static_cast<std::uint32_t>(i);
    }
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> positions;
};

// The least solution of J(s) = min(cap, min over labels of cost + max over outcomes of J), from below, with J = cap in unsafe
// states. Values only grow, so that each outcome is processed at most `cap` times.
std::vector<Radius> least_solution(const jani::Space &space, const Uses &uses, const std::vector<std::uint32_t> &owners,
                                   const std::vector<std::uint8_t> &costs, Radius cap) {
    std::vector<Radius> values(space.size(), 0), worst(owners.size(), 0);
    std::vector<StateId> work;
    const auto raise = [&](StateId s, Radius value) {
        if (value <= values[s]) return;
        values[s] = value;
        work.push_back(s);
    };
    const auto evaluate = [&](StateId s) {
        Radius best = cap;
        for (std::uint64_t i = space.label_offsets()[s]; i < space.label_offsets()[s + 1]; ++i)
            best = std::min<Radius>(best, worst[i] + costs[i]);
        raise(s, best);
    };
    for (StateId s = 0; s < space.size(); ++s) {
        if (space.kinds()[s] == jani::Space::UNSAFE) raise(s, cap);
        else if (space.kinds()[s] == jani::Space::INNER) evaluate(s);
    }
    while (!work.empty()) {
        const StateId s = work.back();
        work.pop_back();
        for (std::uint64_t use = uses.offsets[s]; use < uses.offsets[s + 1]; ++use) {
            const std::uint32_t i = uses.positions[use];
            if (values[s] <= worst[i]) continue;
            worst[i] = values[s];
            evaluate(owners[i]);
        }
    }
    return values;
}

// States from which the policy can reach an unsafe state, found backwards from the unsafe states along its decisions. They are not
// the same as the states that need a deviation, since a strategy has to act where the policy stops.
std::vector<std::uint8_t> unsafe_under_policy(const jani::Space &space, const Uses &uses,
                                              const std::vector<std::uint32_t> &owners,
                                              const std::vector<std::uint8_t> &costs) {
    std::vector<std::uint8_t> found(space.size(), 0);
    std::vector<StateId> work;
    const auto add = [&](StateId s) {
        if (found[s] != 0) return;
        found[s] = 1;
        work.push_back(s);
    };
    for (StateId s = 0; s < space.size(); ++s)
        if (space.kinds()[s] == jani::Space::UNSAFE) add(s);
    while (!work.empty()) {
        const StateId s = work.back();
        work.pop_back();
        for (std::uint64_t use = uses.offsets[s]; use < uses.offsets[s + 1]; ++use)
            if (costs[uses.positions[use]] == 0) add(owners[uses.positions[use]]);
    }
    return found;
}

Limit ask_policy(jani::Space &space, System &system, jani::Engine &engine, const Limits &limits,
                 std::vector<LabelId> &decisions) {
    constexpr StateId BATCH = 1024;
    LimitWatch watch(limits);
    Progress progress;
    std::vector<jani::Word> values(engine.model().slots().size());
    std::vector<StateId> numbers, ids;
    decisions.assign(space.size(), NO_LABEL);
    for (StateId begin = 0; begin < space.size(); begin += BATCH) {
        numbers.clear();
        ids.clear();
        for (StateId s = begin; s < std::min(begin + BATCH, space.size()); ++s) {
            if (space.kinds()[s] != jani::Space::INNER) continue;
            space.values(s, values.data());
            numbers.push_back(s);
            ids.push_back(engine.intern(values.data()));
        }
        system.prepare(ids);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Limit limit = watch.check(progress, [&] { return space.bytes() + engine.bytes() + system.bytes(); });
            if (limit != Limit::none) return limit;
            if (system.kind(ids[i]) == Kind::open) decisions[numbers[i]] = system.decision(ids[i]);
            ++progress.expansions;
        }
    }
    return Limit::none;
}

}  // namespace

GroundTruth ground_truth(jani::Space &space, System &system, jani::Engine &engine, Radius largest,
                         const Limits &limits) {
    GroundTruth result;
    result.limit = ask_policy(space, system, engine, limits, result.decisions);
    if (result.limit != Limit::none) {
        result.decisions.clear();
        return result;
    }
    std::vector<std::uint32_t> owners(space.labels().size());
    std::vector<std::uint8_t> costs(space.labels().size(), 0);
    for (StateId s = 0; s < space.size(); ++s)
        for (std::uint64_t i = space.label_offsets()[s]; i < space.label_offsets()[s + 1]; ++i) {
            owners[i] = s;
            costs[i] = space.labels()[i] != result.decisions[s];
        }
    const Uses uses(space);
    result.deviations = least_solution(space, uses, owners, costs, largest + 1);
    const std::vector<Radius> lost = least_solution(space, uses, owners, std::vector<std::uint8_t>(costs.size(), 0), 1);
    result.lost.assign(lost.begin(), lost.end());
    result.faults.assign(space.size(), 0);
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const StateId s = owners[i];
        if (lost[s] != 0 || costs[i] != 0) continue;
        for (std::uint64_t o = space.outcome_offsets()[i]; o < space.outcome_offsets()[i + 1]; ++o)
            if (lost[space.outcomes()[o]] != 0) result.faults[s] = 1;
    }
    result.bugs = unsafe_under_policy(space, uses, owners, costs);
    for (StateId s = 0; s < space.size(); ++s)
        if (lost[s] != 0) result.bugs[s] = 0;
    return result;
}

}  // namespace misstep::safety
