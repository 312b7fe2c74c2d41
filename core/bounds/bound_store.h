#pragma once

#include <algorithm>
#include <cstdint>

#include "base/limits.h"
#include "bounds/derived_bounds.h"
#include "bounds/goal_distances.h"
#include "bounds/lower_bounds.h"
#include "bounds/transition_cache.h"

namespace misstep {

// What is known about the cheapest plan of every state ever seen: upper bounds with their witnesses, and lower bounds.
//
// The store keeps states and all known transitions between them (transition_cache.h). Three things are derived from
// them and kept up to date: the cheapest known plan of every state (goal_distances.h), better bounds proven by
// dominance (derived_bounds.h), and lower bounds on all plans (lower_bounds.h). Adding a plan, a run of a policy, a
// comparison or a proof only adds edges or raises a bound.
//
// Two searches grow the store, `look_ahead` and `grow`. The second is plan neighbourhood graph search (Nakhost and
// Mueller, the second half of Aras). A bad plan is rarely bad everywhere. It takes detours, and a detour is avoided by a
// short cut between two states that both lie close to the plan. So instead of searching for another plan from the
// start, Aras explores a small neighbourhood of each state of the plan, keeps every transition it sees, and takes the
// cheapest path through them. Then it explores neighbourhoods of the new plan that are twice as large, and so on, until
// the neighbourhood is the whole reachable part of the task or a limit is reached. The old plan is itself a path of the
// store, so the cost never increases.
//
// A neighbourhood is explored by a uniform-cost search that stops after n generated states. It adds 1 to the cost of every
// operator (unless all cost 1): otherwise it would only follow operators of cost zero. These adjusted costs only guide
// the growth; paths are compared by true costs.
//
// One store serves all plans of a task. Three things make that cheap:
//   - A state is expanded once. Every later search around it uses the stored transitions. Neighbourhoods overlap and n
//     doubles, so this is the common case.
//   - Distances to the goal are updated instead of computed anew, so a question about a state close to an earlier plan
//     costs almost nothing.
//   - If no state of the store is left to be expanded, all distances are exact, and no further search is needed.
//
// What differs from the published algorithm:
//   - Only forward growth: states met backwards may be unreachable, and there is no regression of conditional effects.
//   - Goals are not expanded, because no cheapest plan continues after a goal.
//   - "This iteration found no new state" ends the published algorithm, but proves nothing: the n states around each
//     plan state may all lie in the neighbourhood of another. Here a search reports that it is exhausted if it has no
//     state left before it has generated n. If that search is around the start of a plan, the distances of the start and
//     of all states that it has reached are exact, so they become lower bounds too.
//
// Successors are generated in the order of operators, and entries with equal keys are first in, first out. The states
// that a search around a state visits are therefore a function of the state and n, whatever the store contained before.
class BoundStore {
   public:
    // What a call may use, and what it has used so far. States that are visited again count like new ones.
    struct Budget {
        explicit Budget(const Limits &limits, std::uint64_t max_generated)
            : watch(limits), max_generated(max_generated) {}
        LimitWatch watch;
        std::uint64_t max_generated;
        Progress progress;
        Limit limit = Limit::none;  // the one that was reached

        // False once a limit is reached.
        bool allows(const BoundStore &store) {
            if (limit == Limit::none && progress.generated >= max_generated) limit = Limit::generated;
            if (limit == Limit::none) limit = watch.check(progress, [&] { return store.bytes(); });
            return limit == Limit::none;
        }
    };

    explicit BoundStore(const SuccessorGenerator &generator);
    BoundStore(const BoundStore &) = delete;  // the distances refer to the transitions beside them
    BoundStore &operator=(const BoundStore &) = delete;

    StateId add(const int *values) { return transitions_.add(values); }
    // Adds the transitions of a valid plan, by expanding its states up to the first goal or until a limit is reached.
    void add_plan(StateId start, std::span<const OperatorId> plan, Budget &budget);
    // Explores the neighbourhood of a state: follows transitions, nearest states first, until their number reaches n. True
    // if no state was left before that.
    bool grow(StateId root, std::uint64_t n, Budget &budget);
    // Adds one transition, or those of a path, without expanding anything. Each operator must be applicable in its state.
    StateId add_transition(StateId source, OperatorId op) { return transitions_.add_transition(source, op); }
    void add_path(StateId start, std::span<const OperatorId> operators);

    // The transitions of a state, all of them; it is expanded if it was not.
    std::span<const TransitionCache::Transition> expanded(StateId id) {
        if (!transitions_.is_expanded(id)) expand(id);
        return transitions_.successors(id);
    }

    // States at a distance of `depth` steps from a state, with the cost of the cheapest path there that is cheaper than
    // `bound`. Goals are left out, and so are states that a shorter path of at most the same cost leads to, and the states
    // behind them: the transitions that are added meanwhile say everything about them. States that a limit keeps from
    // being expanded are leaves too.
    struct Leaf {
        StateId state;
        Cost cost;
    };
    std::vector<Leaf> look_ahead(StateId root, int depth, Cost bound, Budget &budget);

    // True if every distance is exact, because no state is left to be expanded.
    bool complete() const { return transitions_.open_count() == 0; }
    // The distances as of now.
    const GoalDistances &distances() {
        distances_.update();
        return distances_;
    }
    // Upper bounds with or without a plan, as of now.
    const DerivedBounds &upper_bounds() {
        distances_.update();
        derived_.update();
        return derived_;
    }
    // Adds the proof that h*(state) <= h*(source) - value.
    void add_jump(StateId state, StateId source, Cost value) { derived_.add_jump(state, source, value); }
    // No plan is cheaper than these, as of now.
    const LowerBounds &lower_bounds() {
        lower_bounds_.update();
        return lower_bounds_;
    }
    // Adds the proof that no plan from this state is cheaper.
    void raise_lower_bound(StateId id, Cost bound) { lower_bounds_.raise(id, bound); }
    const TransitionCache &transitions() const { return transitions_; }
    std::size_t bytes() const;

   private:
    // The cost of the path to a state in the search with this number.
    struct Local {
        Cost g = 0;
        std::uint32_t search = 0;
    };
    void expand(StateId id);
    void expand_within(StateId id, Budget &budget);
    void settle_reached();

    TransitionCache transitions_;
    GoalDistances distances_;
    DerivedBounds derived_;
    LowerBounds lower_bounds_;
    std::vector<Cost> adjusted_costs_;
    Cost least_adjusted_cost_ = 1;

    std::vector<Local> local_;
    std::uint32_t search_ = 0;
    std::vector<StateId> reached_;  // by the last search; a state may occur twice
};

}  // namespace misstep
