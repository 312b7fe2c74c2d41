#include "base/packer.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace misstep {

StatePacker::StatePacker(std::span<const int> domain_sizes) : fields_(domain_sizes.size()) {
    constexpr int WORD_BITS = 64;
    const auto bits_for = [&](int variable) {
        return std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(domain_sizes[variable] - 1))));
    };
    // First fit, widest variables first, wastes the fewest bits in practice.
    std::vector<int> order(domain_sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return bits_for(a) > bits_for(b); });
    std::vector<int> used;
    std::size_t first_open = 0;
    for (int variable : order) {
        const int bits = bits_for(variable);
        while (first_open < used.size() && used[first_open] == WORD_BITS) ++first_open;
        std::size_t word = first_open;
        while (word < used.size() && used[word] + bits > WORD_BITS) ++word;
        if (word == used.size()) used.push_back(0);
        if (word > std::numeric_limits<std::uint16_t>::max())
            throw std::length_error("a state of more than 65536 words");
        fields_[variable] = {static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1),
                             static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(used[word])};
        used[word] += bits;
    }
    words_ = std::max<int>(1, static_cast<int>(used.size()));
}

void StatePacker::pack(const int *values, std::uint64_t *state) const {
    std::fill_n(state, words_, 0);
    for (std::size_t v = 0; v < fields_.size(); ++v)
        state[fields_[v].word] |= static_cast<std::uint64_t>(values[v]) << fields_[v].shift;
}

void StatePacker::unpack(const std::uint64_t *state, int *values) const {
    for (std::size_t v = 0; v < fields_.size(); ++v)
        values[v] = static_cast<int>((state[fields_[v].word] >> fields_[v].shift) & fields_[v].mask);
}

}  // namespace misstep
