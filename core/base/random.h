#pragma once

#include <cstdint>

#include "base/hash.h"

namespace misstep {

// Counter-based random numbers: the n-th number of a stream is a function of (seed, stream, n) alone.
// Work that is split over batches, workers or restarts draws the same numbers as work done in one
// go, as long as each unit of work owns a stream.
class CounterRandom {
   public:
    explicit CounterRandom(std::uint64_t seed, std::uint64_t stream = 0, std::uint64_t counter = 0)
        : key_(mix(seed ^ mix(stream + 0x632be59bd9b4e019ULL))), counter_(counter) {}

    std::uint64_t next() { return mix(key_ + 0x9e3779b97f4a7c15ULL * ++counter_); }

    // Uniform in [0, bound), without the bias of a plain modulo (Lemire's rejection method).
    std::uint64_t below(std::uint64_t bound) {
        __extension__ using Wide = unsigned __int128;
        Wide product = static_cast<Wide>(next()) * bound;
        if (static_cast<std::uint64_t>(product) < bound) {
            const std::uint64_t threshold = -bound % bound;
            while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(next()) * bound;
        }
        return static_cast<std::uint64_t>(product >> 64);
    }

    // Uniform in [0, 1) with 53 random bits.
    double real() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    std::uint64_t counter() const { return counter_; }

   private:
    // The finaliser of SplitMix64: a bijection that passes the usual statistical batteries on counters.
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    std::uint64_t key_;
    std::uint64_t counter_;
};

}  // namespace misstep
