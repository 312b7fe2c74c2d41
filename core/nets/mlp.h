#pragma once

#include <span>
#include <string>
#include <vector>

#include "nets/activation.h"
#include "nets/aligned.h"
#include "nets/kernels.h"
#include "nets/layer_norm.h"
#include "nets/network.h"

namespace misstep {

// A fully connected network: linear layers, an activation behind each of them but the last, and optional layer
// normalisations.
//
// Each output of a layer adds its products in the order of the inputs, starting from the bias, whatever the instruction set:
// vectors run over the outputs, never over the sum. A block of rows is evaluated by all layers while it is in the nearest
// cache.
class Mlp : public Network {
   public:
    // A file may specify this: inputs become (x - mean) / range, outputs become y * range + mean.
    struct Normalisation {
        std::vector<double> mean;  // one for each input; empty: no normalisation
        std::vector<double> range;
        double output_mean = 0;
        double output_range = 1;
    };

    // `sizes` from inputs to outputs. `weights`: for each layer its matrix, a row for each output, then its bias. `kernels` names
    // an instruction set; empty: the best of this machine. Throws std::invalid_argument if the arguments contradict each other.
    Mlp(const std::vector<int> &sizes, std::span<const double> weights, Normalisation normalisation,
        const std::string &kernels = "", Activation activation = {}, const std::vector<LayerNorm> &norms = {});

    const char *kernels() const { return kernels_.name; }
    void evaluate(const double *inputs, int count, double *outputs) override;

   private:
    struct Layer {
        Doubles weights;  // input by input, padded
        Doubles bias;
        int inputs;
        int outputs;
        int width;  // outputs, padded
        std::vector<LayerNorm> norms = {};       // before the activation
        std::vector<LayerNorm> late_norms = {};  // behind it
    };

    void add_norm(const LayerNorm &norm);
    void evaluate_block(const double *inputs, int count, double *outputs);
    const double *prepared(const double *inputs, int count);
    void finish_row(const Layer &layer, bool hidden, double *row) const;

    const Kernels &kernels_;
    Activation activation_;
    Normalisation normalisation_;
    std::vector<LayerNorm> input_norms_;
    std::vector<Layer> layers_;
    std::vector<double> prepared_;  // the normalised inputs of a block; empty if the first layer reads them as they are
    Doubles buffers_[2];
};

}  // namespace misstep
