#include "safety/explicit_transitions.h"

#include <algorithm>

namespace misstep::safety {

namespace {

void require(bool fact, const char *what) {
    if (!fact) throw std::invalid_argument(what);
}

bool are_offsets(const std::vector<std::uint32_t> &offsets, std::size_t rows, std::size_t end) {
    return offsets.size() == rows + 1 && offsets.front() == 0 && offsets.back() == end &&
           std::is_sorted(offsets.begin(), offsets.end());
}

}  // namespace

ExplicitTransitions::ExplicitTransitions(Tables tables) : tables_(std::move(tables)) {
    const std::size_t states = tables_.flags.size();
    const auto is_state = [&](StateId id) { return id < states; };
    require(are_offsets(tables_.actions, states, tables_.labels.size()), "the offsets of the actions are wrong");
    require(are_offsets(tables_.offsets, tables_.labels.size(), tables_.outcomes.size()),
            "the offsets of the outcomes are wrong");
    require(std::all_of(tables_.outcomes.begin(), tables_.outcomes.end(), is_state), "an outcome is no state");
    require(std::all_of(tables_.initial.begin(), tables_.initial.end(), is_state), "an initial state is no state");
    require(
        std::all_of(tables_.flags.begin(), tables_.flags.end(), [](std::uint8_t f) { return f <= (UNSAFE | GOAL); }),
        "a flag is unknown");
    require(tables_.distances.empty() || tables_.distances.size() == states, "as many distances as states are needed");
    require(std::none_of(tables_.distances.begin(), tables_.distances.end(), [](double d) { return d != d; }),
            "a distance is not a number");
}

void ExplicitTransitions::expand(StateId id, Expansion &result) {
    for (std::uint32_t i = tables_.actions[id]; i < tables_.actions[id + 1]; ++i) {
        result.outcomes.insert(result.outcomes.end(), tables_.outcomes.begin() + tables_.offsets[i],
                               tables_.outcomes.begin() + tables_.offsets[i + 1]);
        result.close(tables_.labels[i]);
    }
}

StateId ExplicitTransitions::sample(CounterRandom &random) {
    if (tables_.initial.empty()) throw ModelError("there is no initial state");
    return tables_.initial[random.below(tables_.initial.size())];
}

}  // namespace misstep::safety
