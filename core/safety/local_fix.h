#pragma once

#include "safety/value_decider.h"

namespace misstep::safety {

// The least solution around one state, by propagation.
//
// Each state that matters has one label at a time that looks best, and only the outcomes of that label are looked at. When the bound of
// an outcome grows, those who chose a label because of it are evaluated again. Every evaluation but the first pays for itself with
// a bound that has grown or a choice that has changed, so the work is linear in the transitions looked at, times r + 1.
// Depth-first, since a safe strategy is often found by diving, and a lost state nearby is found by what it does to its predecessors.
// The first outcome of the latest choice comes first, even if somebody else has been waiting for that state: a state that waits below
// belongs to choices that may be given up by then. (In models, first outcomes are the regular ones, and the others lead further afield.)
//
// A state whose bound has grown waits until those who chose it have thought again. If nobody chooses it any more, it is left
// alone: within a radius, most states that cannot be passed with what is left of the deviations need not be known any better.
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
    // What is known of a state while one question is being answered.
    struct Scratch {
        std::uint32_t demand;      // states whose chosen label has it as an outcome
        std::uint32_t dependents;  // those to be woken, a list in the pool
    };
    Scratch &scratch(StateId id);
    void push(StateId id);
    void choose(StateId id, std::uint32_t action);
    void release(StateId id);
    void wake_dependents(StateId of);

    std::vector<StateId> work_;  // what is no longer in_work_ has been evaluated since
    Stamps in_work_;
    Stamps seen_;  // in the work, or evaluated and not changed since
    Stamps touched_;
    PerState<Scratch> scratch_{{0, NONE}};
    Stamps has_choice_;
    PerState<std::uint32_t> chosen_{UNSOLVED};
    std::vector<Dependent> pool_;
};

}  // namespace misstep::safety
