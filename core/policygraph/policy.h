#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "fdr/successors.h"

namespace misstep {

// In place of an operator, as in the policy protocol of the Python side.
inline constexpr OperatorId NO_ACTION = -1;
inline constexpr OperatorId FAILED = -2;
// -3 stands for a state that nobody has asked about (policy_graph.h).
inline constexpr OperatorId TIMED_OUT = -4;

// A policy in native code. Loops over states run it without touching Python.
class NativePolicy {
   public:
    virtual ~NativePolicy() = default;

    // Chooses among operators that apply in the state, in increasing order; NO_ACTION if it does not want any.
    virtual OperatorId choose(const int *state, std::span<const OperatorId> candidates) = 0;

    // The value of the state that the last choice leads to; NaN if the policy does not value states.
    virtual double last_value() const { return std::numeric_limits<double>::quiet_NaN(); }
    // The value of a state; NaN likewise.
    virtual double value(const int *) { return std::numeric_limits<double>::quiet_NaN(); }
    // Evaluations of single states by a network or heuristic, so far.
    virtual std::uint64_t evaluations() const { return 0; }
};

}  // namespace misstep
