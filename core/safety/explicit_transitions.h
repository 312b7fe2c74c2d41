#pragma once

#include "safety/transitions.h"

namespace misstep::safety {

// A system given as tables: state s has the actions actions[s] to actions[s + 1] - 1. Action i has the label labels[i] and the
// outcomes outcomes[offsets[i]] to outcomes[offsets[i + 1] - 1].
struct Tables {
    std::vector<std::uint8_t> flags;       // by state
    std::vector<std::uint32_t> actions;    // by state, and one more
    std::vector<LabelId> labels;           // by action
    std::vector<std::uint32_t> offsets;    // by action, and one more
    std::vector<StateId> outcomes;
    std::vector<StateId> initial;
    std::vector<double> distances;         // by state; none: 0 if unsafe, else 1
};

class ExplicitTransitions : public Transitions {
   public:
    // Throws std::invalid_argument if the tables do not fit together.
    explicit ExplicitTransitions(Tables tables);

    StateId size() const { return static_cast<StateId>(tables_.flags.size()); }
    std::uint8_t flags(StateId id) override { return tables_.flags[id]; }
    void expand(StateId id, Expansion &result) override;
    bool has_distance() const override { return !tables_.distances.empty(); }
    double distance(StateId id) override { return tables_.distances.at(id); }
    StateId sample(CounterRandom &random) override;

   private:
    Tables tables_;
};

}  // namespace misstep::safety
