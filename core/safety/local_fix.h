#pragma once

#include "safety/value_decider.h"

namespace misstep::safety {

// The least solution around one state, by propagation.
//
// Each state that matters has one label at a time that looks best, and only the outcomes of that label are looked at. When the bound of
// an outcome grows, those who chose a label because of it are evaluated again. Every evaluation but the first pays for itself with
// a bound that has grown, so the work is linear in the transitions looked at, times r + 1. Depth-first, since a safe strategy is
// often found by diving, and a lost state nearby is found by what it does to its predecessors.
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
    void visit(StateId id);
    void push(StateId id);
    void add_dependent(StateId on, StateId state);
    void wake_dependents(StateId of);

    std::vector<StateId> work_;
    Stamps in_work_;
    Stamps seen_;
    PerState<std::uint32_t> chosen_{UNSOLVED};
    Stamps has_dependents_;
    PerState<std::uint32_t> dependents_{NONE};  // heads of lists in the pool
    std::vector<Dependent> pool_;
};

}  // namespace misstep::safety
