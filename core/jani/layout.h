#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "jani/expression.h"

namespace misstep::jani {

// The position of each slot in a packed state. Bounded integers take as many bits as their bounds need and never
// cross a word. Reals and integers without bounds take a whole word.
class Layout {
   public:
    explicit Layout(std::span<const Slot> slots);

    int words() const { return words_; }
    std::size_t slots() const { return fields_.size(); }

    Word get(const std::uint64_t *state, SlotId slot) const {
        const Field &field = fields_[slot];
        return static_cast<Word>(((state[field.word] >> field.shift) & field.mask) + field.bias);
    }
    // The value must be within the slot's bounds, and a real must not be a negative zero.
    void set(std::uint64_t *state, SlotId slot, Word value) const {
        const Field &field = fields_[slot];
        state[field.word] = (state[field.word] & ~(field.mask << field.shift)) |
                            ((static_cast<std::uint64_t>(value) - field.bias) << field.shift);
    }
    void pack(const Word *values, std::uint64_t *state) const {
        for (int i = 0; i < words_; ++i) state[i] = 0;
        for (SlotId slot = 0; slot < fields_.size(); ++slot) set(state, slot, values[slot]);
    }
    void unpack(const std::uint64_t *state, Word *values) const {
        for (SlotId slot = 0; slot < fields_.size(); ++slot) values[slot] = get(state, slot);
    }

   private:
    struct Field {
        std::uint64_t mask = 0;
        std::uint64_t bias = 0;
        std::uint32_t word = 0;
        std::uint32_t shift = 0;
    };
    std::vector<Field> fields_;
    int words_ = 0;
};

}  // namespace misstep::jani
