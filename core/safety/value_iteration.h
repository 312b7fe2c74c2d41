#pragma once

#include "safety/decider.h"

namespace misstep::safety {

// Explores everything that can be reached under any label and computes the least solution on all of it: the reference for the other
// deciders. Its time is linear (times r + 1), and its memory is what the others try to avoid.
//
// Without a bound the solution is an attractor: a label is lost with its first lost outcome, a state with its last label. Within a
// radius, bounds grow from 0, and a state is evaluated again whenever the bound of an outcome of one of its labels has grown.
class ValueIteration : public Decider {
   public:
    explicit ValueIteration(System &system) : Decider(system) {}
    std::size_t bytes() const override;

   protected:
    void solve(StateId id, Radius radius, Meter &meter) override;
    Facts stored(StateId id) const override;
    std::uint32_t choice(StateId id, bool bounded) override;
    void forget_policy() override;

   private:
    struct Edge {
        std::uint32_t node;
        std::uint32_t action;
    };
    void explore(StateId id, Radius radius, Meter &meter);
    void link();
    void find_lost(Meter &meter);
    void grow(std::uint32_t cap, Meter &meter);
    bool is_covered(StateId id, Radius radius) const;
    std::uint32_t known_value(StateId id);

    PerState<std::uint32_t> values_{0};   // J, cut off at the cap
    PerState<std::uint32_t> caps_{0};     // with which it was computed; 0: not computed
    PerState<std::uint8_t> fates_{0};     // without bound: 1 safe, 2 lost

    // The part that is being solved.
    std::vector<StateId> nodes_;
    Stamps reached_;
    PerState<std::uint32_t> positions_{0};
    std::vector<std::uint32_t> offsets_;  // by node: labels with an outcome there
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> level_;
    std::vector<std::uint32_t> live_;
};

}  // namespace misstep::safety
