#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace misstep {

// A priority queue of facts by value, for the explorations of LM-cut. Values are small in nearly every task,
// so there is a bucket for each value below 4096, and two levels of bits find the lowest bucket in use
// in two instructions however far apart the values are. Larger values wait in a heap. Which of several
// facts with the same value comes first depends on the calls alone.
class LMCutQueue {
   public:
    LMCutQueue() : buckets_(BUCKETS), words_(BUCKETS / 64, 0) {}

    bool empty() const { return summary_ == 0 && heap_.empty(); }

    void push(std::uint32_t value, std::uint32_t fact) {
        if (value < BUCKETS) [[likely]] {
            buckets_[value].push_back(fact);
            words_[value / 64] |= std::uint64_t{1} << (value % 64);
            summary_ |= std::uint64_t{1} << (value / 64);
        } else {
            heap_.emplace_back(value, fact);
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        }
    }

    // The queue must not be empty.
    std::pair<std::uint32_t, std::uint32_t> pop() {
        if (summary_ == 0) [[unlikely]] {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            const auto result = heap_.back();
            heap_.pop_back();
            return result;
        }
        const std::uint32_t value = lowest_bucket();
        std::vector<std::uint32_t> &bucket = buckets_[value];
        const std::uint32_t fact = bucket.back();
        bucket.pop_back();
        if (bucket.empty()) mark_empty(value);
        return {value, fact};
    }

    void clear() {
        while (summary_ != 0) {
            const std::uint32_t value = lowest_bucket();
            buckets_[value].clear();
            mark_empty(value);
        }
        heap_.clear();
    }

    std::size_t bytes() const {
        std::size_t result =
            BUCKETS * sizeof(buckets_[0]) + words_.capacity() * sizeof(words_[0]) + heap_.capacity() * sizeof(heap_[0]);
        for (const std::vector<std::uint32_t> &bucket : buckets_) result += bucket.capacity() * sizeof(bucket[0]);
        return result;
    }

   private:
    static constexpr std::uint32_t BUCKETS = 64 * 64;  // a summary of one word over words of one bit a bucket

    std::uint32_t lowest_bucket() const {
        const auto word = static_cast<std::uint32_t>(std::countr_zero(summary_));
        return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
    }
    void mark_empty(std::uint32_t value) {
        std::uint64_t &word = words_[value / 64];
        word &= ~(std::uint64_t{1} << (value % 64));
        if (word == 0) summary_ &= ~(std::uint64_t{1} << (value / 64));
    }

    std::vector<std::vector<std::uint32_t>> buckets_;
    std::vector<std::uint64_t> words_;
    std::uint64_t summary_ = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> heap_;
};

}  // namespace misstep
