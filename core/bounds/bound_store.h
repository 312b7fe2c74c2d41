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
// Mueller, the second half of Aras). A bad plan is rarely bad everywhere. It takes detours, and a detour is undone by a
// short cut between two states that both lie close to the plan. So instead of searching for another plan from the
// start, it looks around each state of the plan a little, keeps every transition it sees, and asks for the cheapest
// path through what it has seen. Then it looks around the new plan twice as far, and so on, until the neighbourhood is
// the whole reachable part of the task or a limit is reached. The old plan is itself a path of the store, so the cost
// never increases.
//
// Looking around a state is a uniform-cost search that stops after n generated states. It adds 1 to the cost of every
// operator (unless all cost 1): otherwise it would only follow operators of cost zero. These adjusted costs only guide
// the growth; paths are compared by true costs.
//
// One store serves all plans of a task. Three things make that cheap:
//   - A state is expanded once. Every later search around it uses the stored transitions; neighbourhoods overlap and n
//     doubles, so most searches do.
//   - Distances to the goal are kept up to date instead of computed, so a question about a state that an earlier plan
//     has passed by costs next to nothing.
//   - If no state of the store is left to be expanded, all distances are exact, and the next plan is answered at once.
//
// What differs from the published algorithm:
//   - Only forward growth: the states met backwards may be unreachable, and conditional effects have no regression.
//   - Goals are not expanded, because no cheapest plan continues after a goal.
//   - "This iteration found no new state" ends the published algorithm, but proves nothing: the n states around each
//     plan state may all lie in what was seen around another. Here `exhausted` is reported by a search that ran out of
//     states before it ran out of n; around the start of a plan it proves the distance of the start to be exact, and so
//     are those of all states it has reached, which become lower bounds too.
//
// Order: successors by operator, equal keys first in first out. What a search around a state walks over is therefore a
// function of the state and n, whatever the store contained before; the history of the store decides only which
// other states are known beside it.
class BoundStore {
   public:
    // What a call may spend, and what it has spent. States that are walked over again count like new ones.
    struct Budget {
        explicit Budget(const Limits &limits, std::uint64_t max_generated)
            : watch(limits), max_generated(max_generated) {}
        LimitWatch watch;
        std::uint64_t max_generated;
        Progress progress;
        Limit limit = Limit::none;  // the one that has bitten

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
    // Looks around a state: walks over transitions, nearest states first, until their number reaches n. True if it ran
    // out of states before.
    bool grow(StateId root, std::uint64_t n, Budget &budget);
    // Adds one transition, or those of a path, without expanding anything. Each operator must apply when its turn
    // comes.
    StateId add_transition(StateId source, OperatorId op) { return transitions_.add_transition(source, op); }
    void add_path(StateId start, std::span<const OperatorId> operators);

    // The transitions of a state, all of them; it is expanded if it was not.
    std::span<const TransitionCache::Transition> expanded(StateId id) {
        if (!transitions_.is_expanded(id)) expand(id);
        return transitions_.successors(id);
    }

    // States at a distance of `depth` steps from a state, with the cost of the cheapest way there that is cheaper than
    // `bound`. Goals, and states that an at most as expensive and shorter way leads to, are left out, and so is what
    // lies behind them: the transitions that are taken in on the way tell all about them. States that a limit keeps
    // from being expanded are leaves too.
    struct Leaf {
        StateId state;
        Cost cost;
    };
    std::vector<Leaf> look_ahead(StateId root, int depth, Cost bound, Budget &budget);

    // True if every distance is exact, as nothing is left to be expanded.
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
    // How a state stands in the search of that number.
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
    std::vector<StateId> reached_;  // by the last search, some of them twice
};

}  // namespace misstep
