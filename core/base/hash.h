#pragma once

#include <cstddef>
#include <cstdint>

namespace misstep {

// Folding the 128-bit product spreads every input bit over the whole result with one multiplication.
inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_words(const std::uint64_t *words, std::size_t count) {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL ^ count;
    for (std::size_t i = 0; i < count; ++i) h = fold_multiply(h ^ words[i], 0xd6e8feb86659fd93ULL ^ (i << 32));
    return fold_multiply(h, 0xa0761d6478bd642fULL);
}

}  // namespace misstep
