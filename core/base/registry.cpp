#include "base/registry.h"

#include <stdexcept>

namespace misstep {

namespace {
constexpr std::uint64_t FIRST_CAPACITY = 64;
StateId limit_of(std::uint64_t capacity) { return static_cast<StateId>(capacity * 4 / 5); }
}  // namespace

StateRegistry::StateRegistry(int words) : words_(words) { clear(); }

void StateRegistry::clear() {
    size_ = 0;
    capacity_ = FIRST_CAPACITY;
    grow_at_ = limit_of(capacity_);
    slots_.assign(capacity_, {0, NO_STATE});
    slots_.shrink_to_fit();
    segments_.clear();
}

StateId StateRegistry::find(const std::uint64_t *state) const {
    const std::uint32_t hash = short_hash(this->hash(state));
    std::size_t slot = home(hash);
    while (slots_[slot].id != NO_STATE) {
        if (slots_[slot].hash == hash && equal(slots_[slot].id, state)) return slots_[slot].id;
        if (++slot == slots_.size()) slot = 0;
    }
    return NO_STATE;
}

void StateRegistry::grow() {
    if (size_ >= NO_STATE - 1) throw std::length_error("more than 4 billion states");
    capacity_ += capacity_ / 2;
    grow_at_ = limit_of(capacity_);
    std::vector<Slot> old(capacity_, {0, NO_STATE});
    old.swap(slots_);
    for (const Slot &entry : old) {
        if (entry.id == NO_STATE) continue;
        std::size_t slot = home(entry.hash);
        while (slots_[slot].id != NO_STATE)
            if (++slot == slots_.size()) slot = 0;
        slots_[slot] = entry;
    }
}

std::size_t StateRegistry::bytes() const {
    return slots_.capacity() * sizeof(Slot) + segments_.capacity() * sizeof(segments_[0]) +
           segments_.size() * (std::size_t{SEGMENT_MASK} + 1) * words_ * sizeof(std::uint64_t);
}

}  // namespace misstep
