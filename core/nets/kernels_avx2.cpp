#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include "nets/kernels.h"  // before the pragma: the standard headers must not be compiled for new machines only

#pragma GCC target("avx2")
#define MISSTEP_VECTOR_BYTES 32
#include "nets/kernels_body.h"

namespace misstep {
extern const Kernels AVX2_KERNELS;
const Kernels AVX2_KERNELS{"avx2", linear, pool, combine, accumulate, dense};
}  // namespace misstep

#endif
