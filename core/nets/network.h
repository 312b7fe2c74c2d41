#pragma once

namespace misstep {

// A function from rows of numbers to rows of numbers, as used by policies over plain state vectors: there is one output for each
// label, and the highest one is the decision.
//
// Everything is computed in double precision: a network that was trained in single precision loses nothing, and rounding errors are
// far smaller than the usual differences between outputs. Results do not depend on the batch or on earlier rows.
// An object serves one thread at a time, because it owns the memory that it works in.
class Network {
   public:
    Network(int inputs, int outputs) : inputs_(inputs), outputs_(outputs) {}
    virtual ~Network() = default;
    Network(const Network &) = delete;
    Network &operator=(const Network &) = delete;

    int inputs() const { return inputs_; }
    int outputs() const { return outputs_; }

    // Both are matrices by rows without gaps.
    virtual void evaluate(const double *inputs, int count, double *outputs) = 0;

   private:
    int inputs_;
    int outputs_;
};

// Values that stand in place of an output, as in the policy protocol of the Python side.
inline constexpr int NO_OUTPUT = -1;
inline constexpr int NOT_FINITE = -2;

// The allowed output with the highest number, the first one among equals. NO_OUTPUT if none is allowed, NOT_FINITE if an allowed
// number is infinite or NaN: finite weights can still be so large that sums overflow.
int choose_output(const double *outputs, const bool *allowed, int count);

}  // namespace misstep
