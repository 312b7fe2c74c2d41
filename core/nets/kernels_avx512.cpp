#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include "nets/kernels.h"  // before the pragma: the standard headers must not be compiled for new machines only

#pragma GCC target("avx512f")
#define MISSTEP_VECTOR_BYTES 64
#include "nets/kernels_body.h"

namespace misstep {
extern const Kernels AVX512_KERNELS;
const Kernels AVX512_KERNELS{"avx512", linear, pool, combine, accumulate, dense};
}  // namespace misstep

#endif
