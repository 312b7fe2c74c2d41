#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace misstep {

// The queue of a generalised Dijkstra search: costs below BUCKETS in buckets, the others in a binary heap.
//
// Buckets are linked lists in one pool that is emptied as a whole, and a bitmap says which ones are in use, so that only a
// few words are read or written to skip unused costs and to clear the queue. The keys of the heap also order the entries
// of one cost.
class FactQueue {
   public:
    static constexpr std::uint32_t BUCKETS = 1 << 14;

    struct Entry {
        std::int32_t fact;
        std::uint32_t next;
    };
    struct HeapEntry {
        std::uint64_t key;
        std::int32_t fact;
    };

    // At most `capacity` bucket entries are pushed between two calls of clear().
    explicit FactQueue(std::size_t capacity) : heads_(BUCKETS), used_(BUCKETS / 64), pool_(capacity) {}

    void clear() {
        std::fill_n(used_.begin(), used_words_, 0);
        used_words_ = 0;
        size_ = 0;
        heap_.clear();
    }

    void push_bucket(std::uint32_t cost, std::int32_t fact) {
        const std::uint32_t w = cost / 64;
        // The head is valid only if the bucket is in use. A branch would be hard to predict, so it is computed: NONE has
        // all bits set.
        const std::uint32_t unused = static_cast<std::uint32_t>(used_[w] >> (cost % 64) & 1) - 1;
        pool_[size_] = {fact, heads_[cost] | unused};
        heads_[cost] = size_++;
        used_[w] |= std::uint64_t{1} << (cost % 64);
        used_words_ = std::max(used_words_, w + 1);
    }

    // The cheapest bucket in use, given that none below `from` is; BUCKETS if there is none.
    std::uint32_t next_bucket(std::uint32_t from) const {
        std::uint32_t w = from / 64;
        if (w >= used_words_) return BUCKETS;
        std::uint64_t bits = used_[w] & (~std::uint64_t{0} << (from % 64));
        while (bits == 0) {
            if (++w >= used_words_) return BUCKETS;
            bits = used_[w];
        }
        return w * 64 + std::countr_zero(bits);
    }
    // Empties a bucket in use and returns its first entry; next() gives the others and nullptr after the last.
    // Entries that are pushed to this bucket afterwards are not among them.
    const Entry *take_bucket(std::uint32_t cost) {
        used_[cost / 64] &= ~(std::uint64_t{1} << (cost % 64));
        return pool_.data() + heads_[cost];
    }
    const Entry *next(const Entry *entry) const { return entry->next == NONE ? nullptr : pool_.data() + entry->next; }

    bool heap_empty() const { return heap_.empty(); }
    std::uint64_t heap_key() const { return heap_.front().key; }
    void push_heap(std::uint64_t key, std::int32_t fact) {
        heap_.push_back({key, fact});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    std::int32_t pop_heap() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const std::int32_t fact = heap_.back().fact;
        heap_.pop_back();
        return fact;
    }

    std::size_t bytes() const {
        return heads_.capacity() * sizeof(std::uint32_t) + used_.capacity() * sizeof(std::uint64_t) +
               pool_.capacity() * sizeof(Entry) + heap_.capacity() * sizeof(HeapEntry);
    }

   private:
    static constexpr std::uint32_t NONE = ~std::uint32_t{0};
    static bool later(const HeapEntry &a, const HeapEntry &b) { return a.key > b.key; }

    std::vector<std::uint32_t> heads_;
    std::vector<std::uint64_t> used_;
    std::uint32_t used_words_ = 0;
    std::vector<Entry> pool_;
    std::uint32_t size_ = 0;
    std::vector<HeapEntry> heap_;
};

}  // namespace misstep
