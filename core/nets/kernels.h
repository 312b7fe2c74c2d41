#pragma once

#include <string>
#include <vector>

namespace misstep {

// The loops of a network that gain from vector instructions, compiled once for each instruction set and chosen at
// run time, so that one portable build is fast everywhere.
//
// All versions give the same bits. Each lane of a result is computed by the same sequence of IEEE additions and
// multiplications whatever the width of the registers. A multiplication and an addition are never fused
// (-ffp-contract=off), because the oldest machines cannot do that. In measurements fusing gained nothing beyond the noise,
// and without it a policy decides the same on every machine.
//
// Rows of features are `width` floats, a multiple of PADDING. Lanes beyond the hidden size hold numbers that no
// weight uses. Rows start at multiples of 64 bytes.
struct Kernels {
    static constexpr int PADDING = 16;

    // A dense layer. Item i is the row x + index[i] * stride (index may be null: the items are consecutive). A row
    // is `blocks` blocks of `lanes` inputs, `block_stride` floats apart. Weights lie input by input, `width` outputs each.
    struct Linear {
        const float *weights;
        const float *bias;  // null: none
        int blocks;
        int lanes;
        int block_stride;
        int width;
        bool elu;
    };

    const char *name;
    void (*linear)(const Linear &layer, const float *x, const int *index, int stride, int count, float *out);

    // out[s] = element-wise maximum of the rows of segment s, and -1 if it is empty. The rows are those of
    // members[offsets[s] .. offsets[s + 1]), looked up in `rows` unless that is null.
    void (*pool)(const float *features, const int *rows, const int *offsets, const int *members, int segments,
                 int width, float *out);

    // out[i] = ELU(base[rows[i]] + sum over k of terms[index[i * arity + k]]); rows may be null: consecutive.
    void (*combine)(const float *base, const int *rows, const float *terms, const int *index, int arity, int count,
                    int width, float *out);

    // acc[lane] += weights[lane] * x[lane].
    void (*accumulate)(const float *weights, const float *x, int width, float *acc);

    // A dense layer in double precision on consecutive rows. Weights lie input by input, `width` outputs each, a multiple of
    // DENSE_PADDING; rows of x may lie anywhere, those of `out` are `width` doubles.
    static constexpr int DENSE_PADDING = 8;
    struct Dense {
        const double *weights;
        const double *bias;
        int inputs;
        int width;
        bool relu;
    };
    void (*dense)(const Dense &layer, const double *x, int stride, int count, double *out);
};

// All versions that were compiled and that this machine can run, the fastest first.
const std::vector<const Kernels *> &available_kernels();
// The version with this name, the fastest one for an empty name, null if there is none.
const Kernels *find_kernels(const std::string &name);
// The same, but throws std::invalid_argument if there is none.
const Kernels &kernels_named(const std::string &name);

}  // namespace misstep
