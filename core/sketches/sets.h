#pragma once

#include <bit>
#include <cstdint>

#include "sketches/program.h"

namespace misstep {

// Sets as bits. `W` is the number of words that hold one bit for each object, or 0 if it is only known at run time
// (`shape.words`): with one or two words the compiler unrolls every loop over them. Pairs are one row of words for each
// object, which holds its partners. Bits past the last object are never set.
struct SetShape {
    int objects;
    int words;
};

template <int W>
class Sets {
   public:
    using Word = std::uint64_t;
    explicit Sets(SetShape shape) : objects_(shape.objects), words_(W != 0 ? W : shape.words) {}

    int words() const { return W != 0 ? W : words_; }

    void intersect(Word *to, const Word *a, const Word *b, std::size_t size) const {
        for (std::size_t i = 0; i < size; ++i) to[i] = a[i] & b[i];
    }
    void complement(Word *to, const Word *a) const {
        for (int w = 0; w < words(); ++w) to[w] = ~a[w];
        const int spare = words() * 64 - objects_;
        if (spare > 0) to[words() - 1] &= spare >= 64 ? 0 : ~Word{0} >> spare;
    }
    void some(Word *to, const Word *pairs, const Word *among) const {
        select(to, [&](int i) { return intersects(pairs + i * words(), among); });
    }
    void all(Word *to, const Word *pairs, const Word *among) const {
        select(to, [&](int i) {
            Word outside = 0;
            for (int w = 0; w < words(); ++w) outside |= pairs[i * words() + w] & ~among[w];
            return outside == 0;
        });
    }
    void equal(Word *to, const Word *a, const Word *b) const {
        select(to, [&](int i) {
            Word different = 0;
            for (int w = 0; w < words(); ++w) different |= a[i * words() + w] ^ b[i * words() + w];
            return different == 0;
        });
    }
    void inverse(Word *to, const Word *a) const {
        for (int i = 0; i < objects_ * words(); ++i) to[i] = 0;
        for (int i = 0; i < objects_; ++i)
            for_each(a + i * words(), [&](int j) { to[j * words() + i / 64] |= Word{1} << (i % 64); });
    }
    // Warshall's algorithm, a row at a time.
    void closure(Word *to, const Word *a) const {
        for (int i = 0; i < objects_ * words(); ++i) to[i] = a[i];
        for (int k = 0; k < objects_; ++k) {
            const Word *through = to + k * words();
            if (is_empty(through)) continue;
            for (int i = 0; i < objects_; ++i) {
                Word *row = to + i * words();
                if ((row[k / 64] >> (k % 64)) & 1)
                    for (int w = 0; w < words(); ++w) row[w] |= through[w];
            }
        }
    }
    void restrict_to(Word *to, const Word *pairs, const Word *among) const {
        for (int i = 0; i < objects_; ++i)
            for (int w = 0; w < words(); ++w) to[i * words() + w] = pairs[i * words() + w] & among[w];
    }

    std::int32_t count(const Word *a, std::size_t size) const {
        int result = 0;
        for (std::size_t i = 0; i < size; ++i) result += std::popcount(a[i]);
        return result;
    }
    // Breadth-first search, a layer at a time. `scratch` has room for three sets of objects.
    std::int32_t distance(const Word *from, const Word *pairs, const Word *to, Word *scratch) const {
        if (intersects(from, to)) return 0;
        if (is_empty(to)) return NO_WAY;
        Word *seen = scratch, *layer = scratch + words(), *next = scratch + 2 * words();
        for (int w = 0; w < words(); ++w) seen[w] = layer[w] = from[w];
        for (std::int32_t steps = 1;; ++steps) {
            for (int w = 0; w < words(); ++w) next[w] = 0;
            for_each(layer, [&](int i) {
                for (int w = 0; w < words(); ++w) next[w] |= pairs[i * words() + w];
            });
            Word fresh = 0;
            for (int w = 0; w < words(); ++w) fresh |= layer[w] = next[w] & ~seen[w];
            if (fresh == 0) return NO_WAY;
            if (intersects(layer, to)) return steps;
            for (int w = 0; w < words(); ++w) seen[w] |= layer[w];
        }
    }

   private:
    bool is_empty(const Word *a) const {
        Word any = 0;
        for (int w = 0; w < words(); ++w) any |= a[w];
        return any == 0;
    }
    bool intersects(const Word *a, const Word *b) const {
        Word any = 0;
        for (int w = 0; w < words(); ++w) any |= a[w] & b[w];
        return any != 0;
    }
    template <class Do>
    void for_each(const Word *a, Do &&act) const {
        for (int w = 0; w < words(); ++w)
            for (Word rest = a[w]; rest != 0; rest &= rest - 1) act(w * 64 + std::countr_zero(rest));
    }
    template <class Is>
    void select(Word *to, Is &&is) const {
        for (int w = 0; w < words(); ++w) {
            Word bits = 0;
            const int end = objects_ - w * 64 < 64 ? objects_ - w * 64 : 64;
            for (int i = 0; i < end; ++i) bits |= static_cast<Word>(is(w * 64 + i)) << i;
            to[w] = bits;
        }
    }

    int objects_;
    int words_;
};

}  // namespace misstep
