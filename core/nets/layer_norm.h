#pragma once

#include <span>
#include <vector>

namespace misstep {

// Layer normalisation of one row: mean 0 and variance 1 over its numbers, then a scale and a shift for each of them.
// Sums run from the first number to the last.
struct LayerNorm {
    int place = 0;        // 0: before the first layer; otherwise behind that many layers
    bool late = false;    // behind the activation of the layer instead of before it
    double epsilon = 0;   // added to the variance
    std::vector<double> scale;
    std::vector<double> shift;

    void apply(std::span<double> row) const;
};

}  // namespace misstep
