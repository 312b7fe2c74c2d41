#include "nets/kernels.h"

#include <stdexcept>

namespace misstep {

extern const Kernels PORTABLE_KERNELS;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MISSTEP_X86_KERNELS
extern const Kernels AVX2_KERNELS;
extern const Kernels AVX512_KERNELS;
#endif

const std::vector<const Kernels *> &available_kernels() {
    static const std::vector<const Kernels *> all = [] {
        std::vector<const Kernels *> found;
#ifdef MISSTEP_X86_KERNELS
        if (__builtin_cpu_supports("avx512f")) found.push_back(&AVX512_KERNELS);
        if (__builtin_cpu_supports("avx2")) found.push_back(&AVX2_KERNELS);
#endif
        found.push_back(&PORTABLE_KERNELS);
        return found;
    }();
    return all;
}

const Kernels *find_kernels(const std::string &name) {
    for (const Kernels *kernels : available_kernels())
        if (name.empty() || name == kernels->name) return kernels;
    return nullptr;
}

const Kernels &kernels_named(const std::string &name) {
    const Kernels *found = find_kernels(name);
    if (!found) throw std::invalid_argument("this machine has no instruction set '" + name + "'");
    return *found;
}

}  // namespace misstep
