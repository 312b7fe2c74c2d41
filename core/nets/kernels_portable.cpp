#define MISSTEP_VECTOR_BYTES 16
#include "nets/kernels_body.h"

namespace misstep {
extern const Kernels PORTABLE_KERNELS;
const Kernels PORTABLE_KERNELS{"portable", linear, pool, combine, accumulate, dense};
}  // namespace misstep
