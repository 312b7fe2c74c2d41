#pragma once

#include <cstdint>
#include <vector>

#include "base/limits.h"
#include "base/registry.h"
#include "fdr/successors.h"

namespace misstep {

// Every state reachable from a set of roots, every transition between them, and exact h* for all of them.
//
// This is the ground truth that verdicts are tested against, so it takes no short cuts: plain breadth-first
// enumeration, then Dijkstra backwards from all goal states. h* is minimised lexicographically with
// the number of steps, so that following `best_operator` reaches a goal even through zero-cost loops.
class StateSpace {
   public:
    // Enumerates until done or until a limit is reached (limits.expansions counts states): see `limit()`.
    StateSpace(const SuccessorGenerator &generator, const std::vector<std::vector<int>> &roots, const Limits &limits);

    bool complete() const { return limit_ == Limit::none; }
    Limit limit() const { return limit_; }

    StateId size() const { return registry_.size(); }
    std::uint64_t transition_count() const { return targets_.size(); }
    const StateRegistry &registry() const { return registry_; }
    const SuccessorGenerator &generator() const { return generator_; }

    // Transitions of state s: positions [first(s), first(s + 1)) of operators() and targets().
    std::uint64_t first(StateId s) const { return offsets_[s]; }
    const std::vector<OperatorId> &operators() const { return operators_; }
    const std::vector<StateId> &targets() const { return targets_; }

    // The breadth-first tree: from which state a state was found, and by which operator (roots: NO_STATE, NO_OPERATOR).
    const std::vector<StateId> &parents() const { return parents_; }
    const std::vector<OperatorId> &parent_operators() const { return parent_operators_; }

    const std::vector<Cost> &h_star() const { return h_star_; }                       // INFINITE_COST: dead end
    const std::vector<OperatorId> &best_operator() const {
        return best_operator_;
    }   // lowest id; none at goals, dead ends
    const std::vector<char> &is_goal() const { return is_goal_; }

    StateId find(const int *values) const;
    void values(StateId id, int *result) const;
    std::size_t bytes() const;

   private:
    void enumerate(const std::vector<std::vector<int>> &roots, LimitWatch &watch);
    void solve(LimitWatch &watch);

    const SuccessorGenerator &generator_;
    StateRegistry registry_;
    Progress progress_;
    Limit limit_ = Limit::none;
    std::vector<std::uint64_t> offsets_;
    std::vector<OperatorId> operators_;
    std::vector<StateId> targets_;
    std::vector<StateId> parents_;
    std::vector<OperatorId> parent_operators_;
    std::vector<Cost> h_star_;
    std::vector<OperatorId> best_operator_;
    std::vector<char> is_goal_;
};

}  // namespace misstep
