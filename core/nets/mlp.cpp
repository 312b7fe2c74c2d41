#include "nets/mlp.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace misstep {

namespace {

constexpr int BLOCK = 64;  // rows

const Kernels &kernels_named(const std::string &name) {
    const Kernels *kernels = find_kernels(name);
    if (!kernels) throw std::invalid_argument("this machine has no instruction set " + name);
    return *kernels;
}

int padded(int size) { return (size + Kernels::DENSE_PADDING - 1) / Kernels::DENSE_PADDING * Kernels::DENSE_PADDING; }

void check(const std::vector<int> &sizes, std::size_t given, const Mlp::Normalisation &normalisation) {
    if (sizes.size() < 2) throw std::invalid_argument("a network needs inputs and outputs");
    std::size_t needed = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 1) throw std::invalid_argument("a layer is empty");
        if (i) needed += (static_cast<std::size_t>(sizes[i - 1]) + 1) * static_cast<std::size_t>(sizes[i]);
    }
    if (needed != given) throw std::invalid_argument("the number of weights does not fit the sizes of the layers");
    const auto inputs = static_cast<std::size_t>(sizes.front());
    const bool none = normalisation.mean.empty() && normalisation.range.empty();
    if (!none && (normalisation.mean.size() != inputs || normalisation.range.size() != inputs))
        throw std::invalid_argument("the normalisation does not fit the inputs");
}

}  // namespace

Mlp::Mlp(const std::vector<int> &sizes, std::span<const double> weights, Normalisation normalisation,
         const std::string &kernels, Activation activation)
    : Network(sizes.empty() ? 0 : sizes.front(), sizes.empty() ? 0 : sizes.back()),
      kernels_(kernels_named(kernels)),
      activation_(activation),
      normalisation_(std::move(normalisation)) {
    check(sizes, weights.size(), normalisation_);
    int widest = 0;
    const double *next = weights.data();
    for (std::size_t i = 1; i < sizes.size(); ++i) {
        const int inputs = sizes[i - 1], outputs = sizes[i], width = padded(outputs);
        Layer layer{Doubles(static_cast<std::size_t>(inputs) * static_cast<std::size_t>(width)),
                    Doubles(static_cast<std::size_t>(width)), inputs, width};
        for (int o = 0; o < outputs; ++o)
            for (int in = 0; in < inputs; ++in)
                layer.weights[static_cast<std::size_t>(in) * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(o)] = *next++;
        std::copy_n(next, outputs, layer.bias.data());
        next += outputs;
        widest = std::max(widest, width);
        layers_.push_back(std::move(layer));
    }
    for (Doubles &buffer : buffers_) buffer.resize(static_cast<std::size_t>(BLOCK) * static_cast<std::size_t>(widest));
    if (!normalisation_.mean.empty())
        normalised_.resize(static_cast<std::size_t>(BLOCK) * static_cast<std::size_t>(sizes.front()));
}

void Mlp::evaluate(const double *in, int count, double *out) {
    for (int begin = 0; begin < count; begin += BLOCK) {
        const int rows = std::min(BLOCK, count - begin);
        evaluate_block(in + static_cast<std::ptrdiff_t>(begin) * inputs(), rows,
                       out + static_cast<std::ptrdiff_t>(begin) * outputs());
    }
}

void Mlp::evaluate_block(const double *in, int count, double *out) {
    int stride = inputs();
    if (!normalised_.empty()) {
        for (int row = 0; row < count; ++row)
            for (int i = 0; i < stride; ++i) {
                const auto at = static_cast<std::size_t>(row * stride + i);
                const auto column = static_cast<std::size_t>(i);
                normalised_[at] = (in[at] - normalisation_.mean[column]) / normalisation_.range[column];
            }
        in = normalised_.data();
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const Layer &layer = layers_[i];
        double *result = buffers_[i % 2].data();
        const bool hidden = i + 1 < layers_.size();
        const bool relu = hidden && activation_ == Activation::relu;
        kernels_.dense({layer.weights.data(), layer.bias.data(), layer.inputs, layer.width, relu}, in, stride, count,
                       result);
        if (hidden && !relu)
            std::transform(result, result + count * layer.width, result, [](double x) { return std::tanh(x); });
        in = result;
        stride = layer.width;
    }
    const bool scaled = normalisation_.output_mean != 0 || normalisation_.output_range != 1;
    for (int row = 0; row < count; ++row)
        for (int o = 0; o < outputs(); ++o) {
            const double y = in[row * stride + o];
            *out++ = scaled ? y * normalisation_.output_range + normalisation_.output_mean : y;
        }
}

}  // namespace misstep
