#pragma once

#include <deque>
#include <limits>
#include <unordered_map>
#include <vector>

#include "bounds/goal_distances.h"

namespace misstep {

// Upper bounds that are proven without a plan.
//
// A dominance function D proves h*(t) <= h*(s) - D(s,t) for two states: a plan from s bounds the cost of the cheapest
// plan from t, without giving that plan. In the graph of all known transitions this is one more edge from t, a jump to
// s of weight -D(s,t), which may be negative. Bounds are propagated along jumps as along transitions, so a dominance
// bound of one state improves all states that lead to it, and a plan that is found later improves all states that jump
// to it.
//
// Plans are kept separately: GoalDistances keeps the cheapest path without jumps, and this class only keeps bounds that are
// better. As long as no jump is added, nothing is kept here.
//
// A cycle of jumps and transitions has a weight of at least 0, because h* of its states is finite. So propagation
// terminates, and following the chosen steps never runs in a cycle. If a bound falls below 0, or would fall for ever, D is
// not a dominance function.
class DerivedBounds {
   public:
    DerivedBounds(const TransitionCache &graph, const GoalDistances &plans) : graph_(graph), plans_(plans) {}

    void add_jump(StateId state, StateId source, Cost value);  // no effect if it was added before
    std::size_t jumps() const { return jumps_.size(); }
    bool empty() const { return jumps_.empty(); }
    // Propagates what has changed since the last update. The distances have to be up to date.
    void update();

    // The smaller of the cost of a plan and the derived bound. INFINITE_COST if neither is known.
    Cost cost(StateId id) const { return is_derived(id) ? bounds_[id].cost : plans_.cost(id); }
    bool is_derived(StateId id) const { return id < bounds_.size() && bounds_[id].cost < plans_.cost(id); }

    // One step of the proof: an operator, or, if op is NO_OPERATOR, a jump to a state that is worse by `value`.
    struct Step {
        OperatorId op;
        StateId target;
        Cost value;
    };
    Step step(StateId id) const;                     // the first one; the bound has to be derived
    std::vector<Step> derivation(StateId id) const;  // the bound has to be finite

    std::size_t bytes() const;

   private:
    struct Jump {
        StateId state;
        StateId source;
        Cost value;  // D(source, state)
        std::uint32_t next_of_source;
    };
    static constexpr std::uint32_t NONE = std::numeric_limits<std::uint32_t>::max();
    struct Bound {
        Cost cost = INFINITE_COST;
        TransitionId by = NO_TRANSITION;
        std::uint32_t jump = NONE;
        std::uint32_t jumps_here = NONE;  // the last jump to this state
    };
    void improve(StateId id, Cost cost, TransitionId by, std::uint32_t jump);
    void relax_jump(std::uint32_t jump);
    void relax_transition(TransitionId id);
    void propagate();

    const TransitionCache &graph_;
    const GoalDistances &plans_;
    std::vector<Jump> jumps_;
    std::unordered_map<std::uint64_t, std::uint32_t> told_;  // the best jump between two states
    std::vector<Bound> bounds_;
    std::deque<StateId> queue_;  // first in, first out: with negative weights no order settles each state once
    TransitionId taken_in_ = 0;
    std::uint32_t relaxed_jumps_ = 0;
    std::uint64_t plans_seen_ = 0;
};

}  // namespace misstep
