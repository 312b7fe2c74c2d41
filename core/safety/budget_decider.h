#pragma once

#include "safety/decider.h"

namespace misstep::safety {

// The common part of deciders whose search nodes are pairs (state, deviations left).
//
// Two facts are kept for each state: the least budget known to be enough and the largest one known not to be. The label of the
// node with the least sufficient budget is kept with it. Following these labels is a strategy that depends on the state alone:
// every outcome was found safe with the budget that is left, or with less, so budgets never grow along a run and shrink with each
// deviation.
class BudgetDecider : public Decider {
   public:
    std::size_t bytes() const override;

   protected:
    explicit BudgetDecider(System &system) : Decider(system) {}

    static constexpr std::int32_t NO_BUDGET = -1;

    // What is known about a node without search. Callers ask this before they use anything that is only assumed.
    Answer quick(StateId id, Radius budget) {
        const Kind kind = system_.kind(id);
        if (kind == Kind::unsafe || no_[id] >= static_cast<std::int32_t>(budget)) return Answer::not_safe;
        return kind != Kind::open || yes_[id] <= budget ? Answer::safe : Answer::unknown;
    }
    // The budget that is left after a label; NO_BUDGET if the budget is too small for the label.
    std::int32_t left(StateId id, Radius budget, LabelId label) {
        if (budget == UNBOUNDED) return static_cast<std::int32_t>(budget);
        return static_cast<std::int32_t>(budget) - (label == system_.decision(id) ? 0 : 1);
    }
    // True if the node has to be searched: the state is expanded, and it is not a dead end.
    bool is_open(StateId id) { return system_.actions(id).count() != 0; }

    void refuse(StateId id, Radius budget) {
        std::int32_t &no = no_.at(id);
        no = std::max(no, static_cast<std::int32_t>(budget));
    }
    void commit(StateId id, Radius budget, std::uint32_t action) {
        if (budget >= yes_[id]) return;
        yes_.at(id) = budget;
        actions_.at(id) = action;
    }

    Facts stored(StateId id) const override;
    std::uint32_t choice(StateId id, bool) override { return actions_[id]; }
    void forget_policy() override;
    void lose(StateId id) override { refuse(id, UNBOUNDED); }

   private:
    PerState<Radius> yes_{NOT_KNOWN};
    PerState<std::int32_t> no_{NO_BUDGET};
    PerState<std::uint32_t> actions_{0};
};

}  // namespace misstep::safety
