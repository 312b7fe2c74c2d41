#pragma once

#include "safety/value_decider.h"

namespace misstep::safety {

// The least solution around one state, by propagation.
//
// Each relevant state has one label at a time that looks best, and only the outcomes of that label are explored. When the bound of
// an outcome grows, the states that chose a label with this outcome are evaluated again. Every evaluation but the first follows a
// bound that has grown or a choice that has changed, so the work is linear in the transitions explored, times r + 1. The order is
// depth-first: a safe strategy is often found by going deep, and a lost state nearby is found because it raises the bounds of its
// predecessors. The first outcome of the latest choice is evaluated first, even if the state has been waiting further down for
// another choice, which may have been given up by then. (In models, the first outcome is usually the regular one, and the others
// lead to states further away.)
//
// A state whose bound has grown waits until the states that chose it have been evaluated again. If none of them chooses it any more,
// it is not evaluated: within a radius, most states that the remaining deviations do not suffice for need no better bound.
class LocalFix : public ValueDecider {
   public:
    explicit LocalFix(System &system) : ValueDecider(system) {}
    std::size_t bytes() const override;

   protected:
    void solve(StateId id, Radius radius, Meter &meter) override;

   private:
    static constexpr std::uint32_t NONE = ~0U;
    struct Dependent {
        StateId state;
        std::uint32_t next;
    };
    // What is known about a state while one question is being answered.
    struct Scratch {
        std::uint32_t demand;      // states whose chosen label has it as an outcome
        std::uint32_t dependents;  // those to be woken, a list in the pool
    };
    Scratch &scratch(StateId id);
    void push(StateId id);
    void choose(StateId id, std::uint32_t action);
    void release(StateId id);
    void wake_dependents(StateId of);

    std::vector<StateId> work_;  // an entry that is not in_work_ has been evaluated since it was pushed
    Stamps in_work_;
    Stamps seen_;  // in the work, or evaluated and not changed since
    Stamps touched_;
    PerState<Scratch> scratch_{{0, NONE}};
    Stamps has_choice_;
    PerState<std::uint32_t> chosen_{UNSOLVED};
    std::vector<Dependent> pool_;
};

}  // namespace misstep::safety
