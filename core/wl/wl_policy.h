#pragma once

#include "base/registry.h"
#include "policygraph/policy.h"
#include "wl/ranker.h"

namespace misstep {

// Descends on the values of a ranker.
//
// Greedy: the successor of least value; values within TOLERANCE of it tie, and the lowest operator wins.
// Hill climbing (`horizon` above 0): the same where a successor is lower than the state itself. Elsewhere, breadth-first, at
// most `horizon` states are looked at until one is a goal or lower, and the first operator on the way there is taken;
// none found: no action.
// Both are functions of the state. Hill climbing may therefore go round in circles: from a state on the way up, the
// lowest successor may be where it came from.
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
    std::vector<OperatorId> first_;  // by state, on the way there
    std::vector<OperatorId> applicable_;
    StateRegistry seen_;
};

}  // namespace misstep
