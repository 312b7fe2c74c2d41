#pragma once

#include "safety/decider.h"

namespace misstep::safety {

// The common part of deciders that raise lower bounds on J until they are exact where it matters.
//
// Bounds start at 0 and only grow, by Bellman backups, so they never exceed J. If they do not change any more on a set of states
// that is closed under one best label each, then following these labels costs no more than the bounds say. So the bounds are exact
// there, and the states stay solved. This also holds with cycles of cost 0, because the bounds start from below; bounds that start
// above J may converge to a larger solution.
//
// One table serves all radii. J for radius r is J for a larger radius R, cut off at r + 1, so bounds found with any radius are
// bounds for all radii, after the same cut-off. Values up to the radius are exact for all radii once solved.
class ValueDecider : public Decider {
   public:
    std::size_t bytes() const override;

   protected:
    explicit ValueDecider(System &system) : Decider(system) {}

    static constexpr std::uint32_t UNSOLVED = ~0U;

    void begin(Radius radius) {
        bounded_ = radius != UNBOUNDED;
        cap_ = bounded_ ? radius + 1 : 1;
    }

    // The bound for the current radius, cut off at the cap.
    std::uint32_t value(StateId id) {
        switch (system_.kind(id)) {
            case Kind::unsafe: return cap_;
            case Kind::open: break;
            default: return 0;
        }
        if (unbounded_table_.bounds[id] != 0) return cap_;
        return bounded_ ? std::min(bounded_table_.bounds[id], cap_) : 0;
    }
    bool is_saturated(StateId id) { return value(id) >= cap_; }
    // Nothing more can be found out about the state for the current radius.
    bool is_done(StateId id) { return system_.kind(id) != Kind::open || is_solved(id) || is_saturated(id); }

    struct Backup {
        std::uint32_t value;
        std::uint32_t action;  // UNSOLVED: the state is a dead end
    };
    // The first label in order that attains the bound of the state; if none does, the first that attains the least value.
    Backup backup(StateId id);
    // True if the bound of the state has grown.
    bool raise(StateId id, std::uint32_t value);

    // Marks a state as solved by a label that leads to solved states only.
    void settle(StateId id, std::uint32_t action) {
        (bounded_ ? bounded_table_ : unbounded_table_).actions.at(id) = action;
    }
    // The same for all states that can be reached from the state along these labels.
    void settle_reachable(StateId id, const PerState<std::uint32_t> &actions);

    Facts stored(StateId id) const override;
    std::uint32_t choice(StateId id, bool bounded) override;
    void forget_policy() override;
    void lose(StateId id) override { unbounded_table_.bounds.at(id) = 1; }

    bool bounded_ = false;
    std::uint32_t cap_ = 1;

   private:
    struct Table {
        PerState<std::uint32_t> bounds{0};
        PerState<std::uint32_t> actions{UNSOLVED};  // of solved states
    };
    bool is_solved(StateId id) const {
        return bounded_table_.actions[id] != UNSOLVED || (!bounded_ && unbounded_table_.actions[id] != UNSOLVED);
    }

    Table bounded_table_;
    Table unbounded_table_;  // a bound of 1: the state is lost
    std::vector<StateId> open_;
};

}  // namespace misstep::safety
