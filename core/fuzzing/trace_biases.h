#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fuzzing/estimates.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// How bad a run looks (P24). The run <s_0 .. s_n> is the part that the budgets allowed, C(i, j) what it pays
// between two of its states:
//   cost     C(0, n)
//   loop     max over i < j of C(i, j) - h(s_j, s_i): how close it comes to a state it left
//   detour   max over i < j of C(i, j) - h(s_i, s_j): how much too long a part of it is
//   surface  max over i < j of C(i, j) - (h(s_i) - h(s_j)): how far it strays from a steady descent
// Pairs without a path (h = INFINITE_COST) are ignored; if no pair is left, the value is -inf, also for a run without steps.
// Surface: -inf if s_0 is a dead end, +inf if a later state is one.
//
// A value is a function of the start and the number of steps, and never of what else is known about the run. In particular,
// a run whose end is known from another run is not charged its whole cost among siblings that are cut.
class TraceBias {
   public:
    enum class Kind { cost, loop, detour, surface };

    // The estimate may be null for `cost`, and must outlive this object otherwise. Without `prune` every pair is evaluated:
    // the slow version that the fast one is tested against.
    TraceBias(PolicyGraph &graph, Kind kind, Estimate *estimate, bool prune = true);

    // The value of the run of `steps` steps. All its decisions must be known.
    double value(StateId start, std::uint32_t steps);

    std::uint64_t pairs_evaluated() const { return pairs_evaluated_; }
    // How many values returned so far use a distance whose search was cut. A value counts each time it is returned.
    std::uint64_t cut_values() const { return cut_values_; }

   private:
    struct Value {
        double value;
        bool cut;
    };
    Value evaluate_watched(StateId start, std::uint32_t steps);
    double evaluate(StateId start, std::uint32_t steps);
    double over_all_pairs(bool backward);
    double over_pairs(bool backward);
    double surface();
    Cost between(bool backward, std::size_t i, std::size_t j);
    Cost least_between(std::size_t i, std::size_t j) const;

    PolicyGraph &graph_;
    Kind kind_;
    Estimate *estimate_;
    bool prune_;
    std::int64_t most_effects_ = 1;
    std::uint64_t pairs_evaluated_ = 0;
    std::uint64_t cut_values_ = 0;
    std::unordered_map<std::uint64_t, Value> known_;

    // The run being evaluated: states, their values in rows, and paid_[k] = C(0, k).
    std::vector<StateId> states_;
    std::vector<int> rows_;
    std::vector<Cost> paid_;
};

}  // namespace misstep
