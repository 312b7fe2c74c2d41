#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace misstep::dominance {

// A priority queue of states, highest value first, for values that never exceed the last one taken out, as in a shortest-path
// search with negated costs. Values close to the highest one have buckets, the others are in a heap.
template <class V>
class ValueQueue {
   public:
    // Must be called when the queue is empty. No value will be above `top`.
    void start(V top) {
        top_ = top;
        cursor_ = 0;
    }
    void push(V value, int state) {
        const auto below = static_cast<std::size_t>(top_ - value);
        if (below >= BUCKETS) {
            heap_.emplace_back(value, state);
            std::push_heap(heap_.begin(), heap_.end());
            return;
        }
        if (below >= buckets_.size()) buckets_.resize(below + 1);
        buckets_[below].push_back(state);
    }
    bool pop(V &value, int &state) {
        for (; cursor_ < buckets_.size(); ++cursor_)
            if (!buckets_[cursor_].empty()) {
                value = static_cast<V>(top_ - static_cast<V>(cursor_));
                state = buckets_[cursor_].back();
                buckets_[cursor_].pop_back();
                return true;
            }
        if (heap_.empty()) return false;
        std::pop_heap(heap_.begin(), heap_.end());
        value = heap_.back().first;
        state = heap_.back().second;
        heap_.pop_back();
        return true;
    }

   private:
    static constexpr std::size_t BUCKETS = 1024;
    V top_ = 0;
    std::size_t cursor_ = 0;
    std::vector<std::vector<int>> buckets_;
    std::vector<std::pair<V, int>> heap_;
};

}  // namespace misstep::dominance
