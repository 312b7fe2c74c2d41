#include "jani/layout.h"

#include <algorithm>
#include <numeric>

namespace misstep::jani {

Layout::Layout(std::span<const Slot> slots) : fields_(slots.size()) {
    constexpr int WORD_BITS = 64;
    const auto bits_of = [&](SlotId slot) -> int {
        if (slots[slot].type == Type::real) return WORD_BITS;
        const Range &range = slots[slot].range;
        return std::bit_width(static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low));
    };
    // First fit, widest first, as in the packer of FDR states.
    std::vector<SlotId> order(slots.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](SlotId a, SlotId b) { return bits_of(a) > bits_of(b); });
    std::vector<int> used;
    for (SlotId slot : order) {
        const int bits = bits_of(slot);
        std::size_t word = 0;
        while (word < used.size() && used[word] + bits > WORD_BITS) ++word;
        if (word == used.size()) used.push_back(0);
        Field &field = fields_[slot];
        field.word = static_cast<std::uint32_t>(word);
        // A slot of one value has no bits, and its shift must stay below the width of a word.
        field.shift = bits == 0 ? 0 : static_cast<std::uint32_t>(used[word]);
        field.mask = bits == WORD_BITS ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        field.bias =
            slots[slot].type == Type::real || bits == WORD_BITS ? 0 : static_cast<std::uint64_t>(slots[slot].range.low);
        used[word] += bits;
    }
    words_ = std::max<int>(1, static_cast<int>(used.size()));
}

}  // namespace misstep::jani
