#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace misstep {

// Where each variable sits in a packed state. A variable never crosses a word, so reading and writing it is
// one load, one shift and one mask.
class StatePacker {
   public:
    explicit StatePacker(std::span<const int> domain_sizes);

    int variables() const { return static_cast<int>(fields_.size()); }
    int words() const { return words_; }

    int get(const std::uint64_t *state, int variable) const {
        const Field &field = fields_[variable];
        return static_cast<int>((state[field.word] >> field.shift) & field.mask);
    }
    void set(std::uint64_t *state, int variable, int value) const {
        const Field &field = fields_[variable];
        state[field.word] = (state[field.word] & ~(std::uint64_t{field.mask} << field.shift)) |
                            (static_cast<std::uint64_t>(value) << field.shift);
    }
    void pack(const int *values, std::uint64_t *state) const;
    void unpack(const std::uint64_t *state, int *values) const;

    int word_of(int variable) const { return fields_[variable].word; }
    std::uint64_t mask_of(int variable) const {
        return std::uint64_t{fields_[variable].mask} << fields_[variable].shift;
    }
    std::uint64_t bits_of(int variable, int value) const {
        return static_cast<std::uint64_t>(value) << fields_[variable].shift;
    }

   private:
    struct Field {
        std::uint32_t mask;
        std::uint16_t word;
        std::uint16_t shift;
    };
    std::vector<Field> fields_;
    int words_ = 0;
};

}  // namespace misstep
