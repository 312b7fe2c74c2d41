#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/types.h"

namespace misstep {

// The set of states seen so far, each under a dense id.
//
// Everything that is known about a state (its search node, its decision, its bounds) lives in arrays indexed by
// that id, so a state itself is stored once and compared rarely. States lie packed in segments that
// never move, which keeps pointers valid and wastes no memory on doubling. The index is an open hash
// table of (32 hash bits, id). A slot is found by multiplying the hash with the capacity instead of
// masking it, for two reasons: the table can grow by half instead of doubling, which keeps it
// below 16 bytes a state, and growing keeps the order of the entries, so that it is one linear pass.
class StateRegistry {
   public:
    explicit StateRegistry(int words);
    StateRegistry(StateRegistry &&) = default;
    StateRegistry &operator=(StateRegistry &&) = default;

    int words() const { return words_; }
    StateId size() const { return size_; }
    const std::uint64_t *operator[](StateId id) const {
        return segments_[id >> SEGMENT_BITS].get() + std::size_t{id & SEGMENT_MASK} * words_;
    }

    std::uint64_t hash(const std::uint64_t *state) const { return hash_words(state, words_); }
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[home(short_hash(hash))]); }

    // Returns the id and whether the state is new.
    std::pair<StateId, bool> insert(const std::uint64_t *state) { return insert(state, hash(state)); }
    std::pair<StateId, bool> insert(const std::uint64_t *state, std::uint64_t hash);
    StateId find(const std::uint64_t *state) const;  // NO_STATE if it was never inserted

    void clear();
    std::size_t bytes() const;

   private:
    static constexpr int SEGMENT_BITS = 12;
    static constexpr StateId SEGMENT_MASK = (1U << SEGMENT_BITS) - 1;
    struct Slot {
        std::uint32_t hash;
        StateId id;  // NO_STATE marks an empty slot
    };

    static std::uint32_t short_hash(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
    std::size_t home(std::uint32_t hash) const { return (std::uint64_t{hash} * capacity_) >> 32; }
    bool equal(StateId id, const std::uint64_t *state) const {
        const std::uint64_t *other = (*this)[id];
        for (int i = 0; i < words_; ++i)
            if (other[i] != state[i]) return false;
        return true;
    }
    void grow();

    int words_;
    StateId size_ = 0;
    std::uint64_t capacity_;
    StateId grow_at_;
    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<std::uint64_t[]>> segments_;
};

inline std::pair<StateId, bool> StateRegistry::insert(const std::uint64_t *state, std::uint64_t full_hash) {
    const std::uint32_t hash = short_hash(full_hash);
    std::size_t slot = home(hash);
    while (slots_[slot].id != NO_STATE) {
        if (slots_[slot].hash == hash && equal(slots_[slot].id, state)) return {slots_[slot].id, false};
        if (++slot == slots_.size()) slot = 0;
    }
    const StateId id = size_;
    if ((id & SEGMENT_MASK) == 0)
        segments_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(std::size_t{SEGMENT_MASK + 1} * words_));
    std::memcpy(segments_.back().get() + std::size_t{id & SEGMENT_MASK} * words_, state,
                sizeof(std::uint64_t) * words_);
    slots_[slot] = {hash, id};
    if (++size_ >= grow_at_) grow();
    return {id, true};
}

}  // namespace misstep
