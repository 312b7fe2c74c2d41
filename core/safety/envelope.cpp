#include "safety/envelope.h"

#include <algorithm>

namespace misstep::safety {

Envelope explore_envelope(System &system, std::span<const StateId> starts, const Limits &limits) {
    struct Entry {
        StateId state;
        std::size_t parent;
    };
    constexpr std::size_t START = ~std::size_t{0};
    Envelope result;
    std::vector<Entry> entries;
    Stamps seen;
    LimitWatch watch(limits);
    Progress progress;

    const auto finish = [&](std::size_t unsafe) {
        for (std::size_t i = unsafe; i != START; i = entries[i].parent) result.states.push_back(entries[i].state);
        std::reverse(result.states.begin(), result.states.end());
        for (std::size_t i = 0; i + 1 < result.states.size(); ++i)
            result.labels.push_back(system.decision(result.states[i]));
        result.reached = entries.size();
        return result;
    };
    // States are tested when they are first met, so the first unsafe one is closest to the starts.
    const auto add = [&](StateId state, std::size_t parent) {
        if (!seen.insert(state)) return false;
        entries.push_back({state, parent});
        return system.is_unsafe(state);
    };

    for (StateId start : starts)
        if (add(start, START)) return finish(entries.size() - 1);
    std::size_t prepared = 0;
    std::vector<StateId> layer;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i == prepared) {  // a new layer: the policy may evaluate all its states together
            prepared = entries.size();
            layer.clear();
            for (std::size_t j = i; j < prepared; ++j) layer.push_back(entries[j].state);
            if (layer.size() > 1) system.prepare(layer);
        }
        const StateId state = entries[i].state;
        if (system.kind(state) != Kind::open) continue;
        result.limit =
            watch.check(progress, [&] { return system.bytes() + seen.bytes() + entries.capacity() * sizeof(Entry); });
        if (result.limit != Limit::none) {
            result.reached = entries.size();
            return result;
        }
        ++progress.expansions;
        const std::span<const StateId> outcomes = system.policy_outcomes(state);
        if (outcomes.empty()) ++(system.kind(state) == Kind::dead_end ? result.dead_ends : result.stops);
        for (StateId outcome : outcomes)
            if (add(outcome, i)) return finish(entries.size() - 1);
    }
    result.is_safe = true;
    result.reached = entries.size();
    return result;
}

}  // namespace misstep::safety
