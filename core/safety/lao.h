#pragma once

#include "safety/value_decider.h"

namespace misstep::safety {

// LAO*, in its form that sweeps the best partial solution depth-first and backs up each state on the way back.
//
// The search expands a new state and descends into it at once. If it stopped at each new state, the solution would grow by one layer
// per sweep, which is quadratic on long runs and gains nothing: all bounds start at 0, so they give no better order of expansion. A
// sweep that changes nothing has verified the whole solution.
class Lao : public ValueDecider {
   public:
    explicit Lao(System &system) : ValueDecider(system) {}
    std::size_t bytes() const override;

   protected:
    void solve(StateId id, Radius radius, Meter &meter) override;

   private:
    struct Frame {
        StateId state;
        std::uint32_t action;
        std::uint32_t next;      // outcome
        std::uint64_t changes;   // of bounds, before the state was backed up
    };
    bool enter(StateId id, Meter &meter);
    void sweep(StateId id, Meter &meter);

    std::vector<Frame> frames_;
    Stamps seen_;
    PerState<std::uint32_t> chosen_{UNSOLVED};
    std::uint64_t changes_ = 0;
};

}  // namespace misstep::safety
