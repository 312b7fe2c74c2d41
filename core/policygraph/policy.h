#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "fdr/successors.h"

namespace misstep {

// Values that stand in place of an operator, as in the policy protocol of the Python side.
inline constexpr OperatorId NO_ACTION = -1;
inline constexpr OperatorId FAILED = -2;
// -3 is used for states where the policy was not asked (policy_graph.h).
inline constexpr OperatorId TIMED_OUT = -4;

// A policy in native code. Loops over states run it without touching Python.
class NativePolicy {
   public:
    virtual ~NativePolicy() = default;

    // Chooses one of the applicable operators, which are given in increasing order; NO_ACTION if it chooses none.
    virtual OperatorId choose(const int *state, std::span<const OperatorId> candidates) = 0;

    // The value of the state that the last choice leads to; NaN if the policy does not value states.
    virtual double last_value() const { return std::numeric_limits<double>::quiet_NaN(); }
    // The value of a state; NaN if the policy does not value states.
    virtual double value(const int *) { return std::numeric_limits<double>::quiet_NaN(); }
    // Evaluations of single states by a network or heuristic, so far.
    virtual std::uint64_t evaluations() const { return 0; }
};

}  // namespace misstep
