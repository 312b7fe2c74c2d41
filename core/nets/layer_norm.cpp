#include "nets/layer_norm.h"

#include <cmath>

namespace misstep {

void LayerNorm::apply(std::span<double> row) const {
    const auto count = static_cast<double>(row.size());
    double sum = 0;
    for (double x : row) sum += x;
    const double mean = sum / count;
    double squares = 0;
    for (double x : row) squares += (x - mean) * (x - mean);
    const double deviation = std::sqrt(squares / count + epsilon);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - mean) / deviation * scale[i] + shift[i];
}

}  // namespace misstep
