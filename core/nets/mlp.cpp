#include "nets/mlp.h"

#include <algorithm>
#include <stdexcept>

namespace misstep {

namespace {

constexpr int BLOCK = 64;  // rows

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
         const std::string &kernels, Activation activation, const std::vector<LayerNorm> &norms)
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
                    Doubles(static_cast<std::size_t>(width)), inputs, outputs, width};
        for (int o = 0; o < outputs; ++o)
            for (int in = 0; in < inputs; ++in)
                layer.weights[static_cast<std::size_t>(in) * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(o)] = *next++;
        std::copy_n(next, outputs, layer.bias.data());
        next += outputs;
        widest = std::max(widest, width);
        layers_.push_back(std::move(layer));
    }
    for (const LayerNorm &norm : norms) add_norm(norm);
    for (Doubles &buffer : buffers_) buffer.resize(static_cast<std::size_t>(BLOCK) * static_cast<std::size_t>(widest));
    if (!normalisation_.mean.empty() || !input_norms_.empty())
        prepared_.resize(static_cast<std::size_t>(BLOCK) * static_cast<std::size_t>(sizes.front()));
}

void Mlp::add_norm(const LayerNorm &norm) {
    if (norm.place < 0 || static_cast<std::size_t>(norm.place) > layers_.size())
        throw std::invalid_argument("a layer normalisation behind a layer that does not exist");
    const auto place = static_cast<std::size_t>(norm.place);
    const auto width = static_cast<std::size_t>(place ? layers_[place - 1].outputs : inputs());
    if (norm.scale.size() != width || norm.shift.size() != width)
        throw std::invalid_argument("a layer normalisation does not fit its layer");
    if (!(norm.epsilon >= 0)) throw std::invalid_argument("the epsilon of a layer normalisation is negative");
    if (!place) input_norms_.push_back(norm);
    else (norm.late ? layers_[place - 1].late_norms : layers_[place - 1].norms).push_back(norm);
}

void Mlp::evaluate(const double *in, int count, double *out) {
    for (int begin = 0; begin < count; begin += BLOCK) {
        const int rows = std::min(BLOCK, count - begin);
        evaluate_block(in + static_cast<std::ptrdiff_t>(begin) * inputs(), rows,
                       out + static_cast<std::ptrdiff_t>(begin) * outputs());
    }
}

const double *Mlp::prepared(const double *in, int count) {
    if (prepared_.empty()) return in;
    const auto width = static_cast<std::size_t>(inputs());
    for (std::size_t row = 0; row < static_cast<std::size_t>(count); ++row) {
        double *to = prepared_.data() + row * width;
        std::copy_n(in + row * width, width, to);
        if (!normalisation_.mean.empty())
            for (std::size_t i = 0; i < width; ++i) to[i] = (to[i] - normalisation_.mean[i]) / normalisation_.range[i];
        for (const LayerNorm &norm : input_norms_) norm.apply({to, width});
    }
    return prepared_.data();
}

// Applies what follows the sums of a layer and was not computed together with them.
void Mlp::finish_row(const Layer &layer, bool hidden, double *row) const {
    const auto width = static_cast<std::size_t>(layer.outputs);
    for (const LayerNorm &norm : layer.norms) norm.apply({row, width});
    if (hidden) activation_.apply(row, layer.outputs);
    for (const LayerNorm &norm : layer.late_norms) norm.apply({row, width});
}

void Mlp::evaluate_block(const double *in, int count, double *out) {
    int stride = inputs();
    in = prepared(in, count);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const Layer &layer = layers_[i];
        double *result = buffers_[i % 2].data();
        const bool hidden = i + 1 < layers_.size();
        const bool relu = hidden && activation_.kind == Activation::Kind::relu && layer.norms.empty();
        kernels_.dense({layer.weights.data(), layer.bias.data(), layer.inputs, layer.width, relu}, in, stride, count,
                       result);
        const bool more = !layer.norms.empty() || !layer.late_norms.empty();
        if (more || (hidden && !relu))
            for (int row = 0; row < count; ++row) finish_row(layer, hidden && !relu, result + row * layer.width);
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
