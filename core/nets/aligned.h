#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace misstep {

// Memory for the vector kernels: rows of features start at cache lines.
template <class T>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t ALIGNMENT{64};

    CacheLineAllocator() = default;
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U> &) {}

    T *allocate(std::size_t n) { return static_cast<T *>(::operator new(n * sizeof(T), ALIGNMENT)); }
    void deallocate(T *p, std::size_t) { ::operator delete(p, ALIGNMENT); }
    friend bool operator==(const CacheLineAllocator &, const CacheLineAllocator &) { return true; }
};

using Floats = std::vector<float, CacheLineAllocator<float>>;
using Doubles = std::vector<double, CacheLineAllocator<double>>;

}  // namespace misstep
