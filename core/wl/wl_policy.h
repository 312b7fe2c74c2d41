#pragma once

#include "base/registry.h"
#include "policygraph/policy.h"
#include "wl/ranker.h"

namespace misstep {

// Greedy descent on the values of a ranker.
//
// Greedy: takes the successor of least value. Values within TOLERANCE of it are equal, and the lowest operator is taken.
// Hill climbing (`horizon` above 0): the same where a successor has a lower value than the state itself. Elsewhere a
// breadth-first search visits at most `horizon` states until one is a goal or has a lower value, and the first operator on
// the path to it is taken. If there is none, there is no action.
// Both are functions of the state. Hill climbing may therefore run in a cycle: from a state on the path of the search, the
// successor of least value may be the state that it came from.
class WlPolicy : public NativePolicy {
   public:
    static constexpr double TOLERANCE = 1e-9;

    WlPolicy(const SuccessorGenerator &generator, WlRanker ranker, std::uint32_t horizon);

    OperatorId choose(const int *state, std::span<const OperatorId> candidates) override;
    double last_value() const override { return last_value_; }
    double value(const int *state) override;
    std::uint64_t evaluations() const override { return evaluations_; }

   private:
    OperatorId greedy(const int *state, std::span<const OperatorId> candidates);
    OperatorId climb(const int *state, std::span<const OperatorId> candidates);
    OperatorId stuck();

    const SuccessorGenerator &generator_;
    WlRanker ranker_;
    std::uint32_t horizon_;
    double last_value_ = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t evaluations_ = 0;
    std::vector<double> values_;
    std::vector<int> from_, to_;
    std::vector<std::uint64_t> packed_;
    std::vector<OperatorId> first_;  // by state: the first operator on the path to it
    std::vector<OperatorId> applicable_;
    StateRegistry seen_;
};

}  // namespace misstep
