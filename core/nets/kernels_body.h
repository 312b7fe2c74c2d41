// The kernels, written once for registers of MISSTEP_VECTOR_BYTES. Each file that includes this compiles
// it for one instruction set. Everything has internal linkage and no function of the standard library is used: the linker
// keeps an arbitrary copy of an inline function, and that copy could be one that only new machines can run.

#include <cstdint>

#include "nets/kernels.h"

namespace misstep {
namespace {

constexpr int LANES = MISSTEP_VECTOR_BYTES / 4;
typedef float Vec __attribute__((vector_size(MISSTEP_VECTOR_BYTES), may_alias));
typedef std::int32_t IntVec __attribute__((vector_size(MISSTEP_VECTOR_BYTES), may_alias));

#define MISSTEP_INLINE __attribute__((always_inline)) inline

MISSTEP_INLINE void load(Vec &to, const float *from) { to = *reinterpret_cast<const Vec *>(from); }
MISSTEP_INLINE void store(float *to, const Vec &from) { *reinterpret_cast<Vec *>(to) = from; }

// x -> x > 0 ? x : exp(x) - 1, to about one unit in the last place.
//
// exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1) where x = n ln 2 + r: near zero n is 0 and nothing cancels. Adding 1.5 * 2^23 to a
// float rounds it to an integer and leaves that integer in its lowest bits.
MISSTEP_INLINE void elu(Vec &x) {
    const Vec zero = {};
    const Vec lowest = zero - 30.0f;  // exp(-30) - 1 is -1 in float precision
    Vec y = x > zero ? zero : x;
    y = y < lowest ? lowest : y;
    const Vec shifted = y * 1.44269504088896f + 12582912.0f;
    const Vec n = shifted - 12582912.0f;
    const Vec r = (y - n * 0.693359375f) - n * -2.12194440054690583e-4f;
    Vec p = r * (1.0f / 5040) + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    const IntVec bits = (reinterpret_cast<const IntVec &>(shifted) - 0x4b400000 + 127) << 23;
    const Vec power = reinterpret_cast<const Vec &>(bits);
    const Vec negative = power * p + (power - 1.0f);
    x = x > zero ? x : negative;
}

// TILE items at once share each load of the weights; their sums stay in registers.
template <int TILE>
MISSTEP_INLINE void linear_tile(const Kernels::Linear &layer, const float *const *x, float *const *out) {
    for (int c = 0; c < layer.width; c += LANES) {
        Vec acc[TILE];
        Vec start = {};
        if (layer.bias) load(start, layer.bias + c);
        for (int t = 0; t < TILE; ++t) acc[t] = start;
        const float *w = layer.weights + c;
        for (int b = 0; b < layer.blocks; ++b) {
            const int first = b * layer.block_stride;
            for (int i = first; i < first + layer.lanes; ++i, w += layer.width) {
                Vec weight;
                load(weight, w);
                for (int t = 0; t < TILE; ++t) acc[t] += weight * x[t][i];
            }
        }
        for (int t = 0; t < TILE; ++t) {
            if (layer.elu) elu(acc[t]);
            store(out[t] + c, acc[t]);
        }
    }
}

template <int TILE>
MISSTEP_INLINE int linear_tiles(const Kernels::Linear &layer, const float *x, const int *index, int stride, int begin,
                                int count, float *out) {
    for (; begin + TILE <= count; begin += TILE) {
        const float *items[TILE];
        float *results[TILE];
        for (int t = 0; t < TILE; ++t) {
            items[t] = x + static_cast<std::int64_t>(index ? index[begin + t] : begin + t) * stride;
            results[t] = out + static_cast<std::int64_t>(begin + t) * layer.width;
        }
        linear_tile<TILE>(layer, items, results);
    }
    return begin;
}

void linear(const Kernels::Linear &layer, const float *x, const int *index, int stride, int count, float *out) {
    int done = linear_tiles<8>(layer, x, index, stride, 0, count, out);
    done = linear_tiles<4>(layer, x, index, stride, done, count, out);
    done = linear_tiles<2>(layer, x, index, stride, done, count, out);
    linear_tiles<1>(layer, x, index, stride, done, count, out);
}

template <bool LOOKED_UP>
MISSTEP_INLINE void pool_segments(const float *features, const int *rows, const int *offsets, const int *members,
                                  int segments, int width, float *out) {
    for (int c = 0; c < width; c += LANES)
        for (int s = 0; s < segments; ++s) {
            Vec best = {};
            best = best - 1.0f;  // ELU is never below -1, so -1 is also the neutral element
            IntVec undefined = {};
            for (int m = offsets[s]; m < offsets[s + 1]; ++m) {
                const int row = LOOKED_UP ? rows[members[m]] : members[m];
                Vec value;
                load(value, features + static_cast<std::int64_t>(row) * width + c);
                best = value > best ? value : best;
                undefined |= value != value;  // a comparison would drop NaN
            }
            best = undefined ? best * __builtin_nanf("") : best;
            store(out + static_cast<std::int64_t>(s) * width + c, best);
        }
}

void pool(const float *features, const int *rows, const int *offsets, const int *members, int segments, int width,
          float *out) {
    if (rows) pool_segments<true>(features, rows, offsets, members, segments, width, out);
    else pool_segments<false>(features, rows, offsets, members, segments, width, out);
}

void combine(const float *base, const int *rows, const float *terms, const int *index, int arity, int count, int width,
             float *out) {
    for (int i = 0; i < count; ++i) {
        const std::int64_t row = rows ? rows[i] : i;
        for (int c = 0; c < width; c += LANES) {
            Vec sum, term;
            load(sum, base + row * width + c);
            for (int k = 0; k < arity; ++k) {
                load(term, terms + static_cast<std::int64_t>(index[k]) * width + c);
                sum += term;
            }
            elu(sum);
            store(out + static_cast<std::int64_t>(i) * width + c, sum);
        }
        index += arity;
    }
}

void accumulate(const float *weights, const float *x, int width, float *acc) {
    for (int c = 0; c < width; c += LANES) {
        Vec sum, weight, value;
        load(sum, acc + c);
        load(weight, weights + c);
        load(value, x + c);
        sum += weight * value;
        store(acc + c, sum);
    }
}

constexpr int DOUBLE_LANES = MISSTEP_VECTOR_BYTES / 8;
typedef double DoubleVec __attribute__((vector_size(MISSTEP_VECTOR_BYTES), may_alias));

template <int TILE>
MISSTEP_INLINE int dense_tiles(const Kernels::Dense &layer, const double *x, int stride, int begin, int count,
                               double *out) {
    for (; begin + TILE <= count; begin += TILE) {
        const double *items[TILE];
        for (int t = 0; t < TILE; ++t) items[t] = x + static_cast<std::int64_t>(begin + t) * stride;
        double *results = out + static_cast<std::int64_t>(begin) * layer.width;
        for (int c = 0; c < layer.width; c += DOUBLE_LANES) {
            DoubleVec acc[TILE];
            for (int t = 0; t < TILE; ++t) acc[t] = *reinterpret_cast<const DoubleVec *>(layer.bias + c);
            const double *w = layer.weights + c;
            for (int i = 0; i < layer.inputs; ++i, w += layer.width) {
                const DoubleVec weight = *reinterpret_cast<const DoubleVec *>(w);
                for (int t = 0; t < TILE; ++t) acc[t] += weight * items[t][i];
            }
            const DoubleVec zero = {};
            for (int t = 0; t < TILE; ++t) {
                // With this order of the cases, NaN stays NaN.
                if (layer.relu) acc[t] = acc[t] < zero ? zero : acc[t];
                *reinterpret_cast<DoubleVec *>(results + static_cast<std::int64_t>(t) * layer.width + c) = acc[t];
            }
        }
    }
    return begin;
}

void dense(const Kernels::Dense &layer, const double *x, int stride, int count, double *out) {
    int done = dense_tiles<8>(layer, x, stride, 0, count, out);
    done = dense_tiles<4>(layer, x, stride, done, count, out);
    done = dense_tiles<2>(layer, x, stride, done, count, out);
    dense_tiles<1>(layer, x, stride, done, count, out);
}

}  // namespace
}  // namespace misstep
