#pragma once

#include <string>

namespace misstep {

// The function between the layers of a network, applied to each number separately.
//
// The definitions are those of PyTorch. Functions other than polynomials come from the C library of the machine.
// NaN stays NaN.
struct Activation {
    enum class Kind { identity, relu, leaky_relu, elu, tanh, sigmoid, silu, gelu, gelu_tanh };

    Kind kind = Kind::relu;
    double parameter = 0;  // leaky_relu: the slope below zero; elu: alpha, so that the limit far below zero is -alpha

    // Throws std::invalid_argument for an unknown name or a parameter that is not finite.
    static Activation named(const std::string &name, double parameter);

    void apply(double *values, int count) const;
};

}  // namespace misstep
