#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace misstep {
namespace {

using Words = std::array<std::uint32_t, 8>;
constexpr std::size_t BLOCK = 64;
constexpr std::size_t LENGTH_BYTES = 8;  // at the end of the last block

// The first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the cube roots of the first 64.
constexpr Words START{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<std::uint32_t, 64> ROUNDS{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Word = std::uint32_t;

inline void step(Word a, Word b, Word c, Word &d, Word e, Word f, Word g, Word &h, Word added) {
    h += (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + (g ^ (e & (f ^ g))) + added;
    d += h;
    h += (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
}

void add_block(Words &words, const std::uint8_t *block) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i, block += 4)
        w[i] = std::uint32_t{block[0]} << 24 | std::uint32_t{block[1]} << 16 | std::uint32_t{block[2]} << 8 | block[3];
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) +
               (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = words;
    // The eight variables rotate in each round. With eight rounds written out, no value has to be moved.
    for (std::size_t i = 0; i < 64; i += 8) {
        step(a, b, c, d, e, f, g, h, ROUNDS[i] + w[i]);
        step(h, a, b, c, d, e, f, g, ROUNDS[i + 1] + w[i + 1]);
        step(g, h, a, b, c, d, e, f, ROUNDS[i + 2] + w[i + 2]);
        step(f, g, h, a, b, c, d, e, ROUNDS[i + 3] + w[i + 3]);
        step(e, f, g, h, a, b, c, d, ROUNDS[i + 4] + w[i + 4]);
        step(d, e, f, g, h, a, b, c, ROUNDS[i + 5] + w[i + 5]);
        step(c, d, e, f, g, h, a, b, ROUNDS[i + 6] + w[i + 6]);
        step(b, c, d, e, f, g, h, a, ROUNDS[i + 7] + w[i + 7]);
    }
    const Words added{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += added[i];
}

}  // namespace

Sha256 sha256(std::string_view text) {
    Words words = START;
    const auto *at = reinterpret_cast<const std::uint8_t *>(text.data());
    std::size_t left = text.size();
    for (; left >= BLOCK; left -= BLOCK, at += BLOCK) add_block(words, at);
    // The padding of the standard: the bytes that are left, a one bit, zeros, and the length in bits.
    std::array<std::uint8_t, 2 * BLOCK> end{};
    std::copy_n(at, left, end.begin());
    end[left] = 0x80;
    const std::size_t size = left + 1 + LENGTH_BYTES <= BLOCK ? BLOCK : 2 * BLOCK;
    const std::uint64_t bits = std::uint64_t{text.size()} * 8;
    for (std::size_t i = 0; i < LENGTH_BYTES; ++i) end[size - 1 - i] = static_cast<std::uint8_t>(bits >> 8 * i);
    for (std::size_t start = 0; start < size; start += BLOCK) add_block(words, end.data() + start);
    Sha256 digest;
    for (std::size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<std::uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

}  // namespace misstep
