#pragma once

#include "base/random.h"
#include "safety/value_decider.h"

namespace misstep::safety {

// Labelled real-time dynamic programming for worst-case deviations.
//
// A trial follows the labels that look best, with outcomes drawn uniformly (probabilities of the model play no role), and backs up
// the states on its path. It ends at a state that is done, and also at a state that it has passed already: cycles may cost nothing,
// so the trial might never leave one. Then the states of the trial are checked from its end: if all states that can be reached along
// best labels are consistent, they are solved.
class Lrtdp : public ValueDecider {
   public:
    Lrtdp(System &system, std::uint64_t seed) : ValueDecider(system), seed_(seed) {}
    std::size_t bytes() const override;

   protected:
    void solve(StateId id, Radius radius, Meter &meter) override;

   private:
    void trial(StateId id, CounterRandom &random, Meter &meter);
    bool check(StateId id, Meter &meter);

    std::uint64_t seed_;
    std::uint64_t questions_ = 0;
    std::vector<StateId> trial_;
    Stamps passed_;
    std::vector<StateId> open_;
    std::vector<StateId> closed_;
    Stamps marked_;
    PerState<std::uint32_t> chosen_{UNSOLVED};
};

}  // namespace misstep::safety
