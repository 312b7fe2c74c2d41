#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/types.h"

namespace misstep::safety {

// A set of ids that is emptied in constant time, since many searches start anew on the same states.
class Stamps {
   public:
    bool contains(StateId id) const { return id < stamps_.size() && stamps_[id] == now_; }
    // False if it was there already.
    bool insert(StateId id) {
        if (id >= stamps_.size()) stamps_.resize(grown(stamps_.size(), id), 0);
        if (stamps_[id] == now_) return false;
        stamps_[id] = now_;
        return true;
    }
    void erase(StateId id) {
        if (contains(id)) stamps_[id] = 0;
    }
    void clear() {
        if (++now_ == std::numeric_limits<std::uint32_t>::max()) {
            std::fill(stamps_.begin(), stamps_.end(), 0);
            now_ = 1;
        }
    }
    std::size_t bytes() const { return stamps_.capacity() * sizeof(std::uint32_t); }

    // A size that has room for the id; growing by half keeps the total cost linear.
    static std::size_t grown(std::size_t size, StateId id) {
        return std::max<std::size_t>(static_cast<std::size_t>(id) + 1, size + size / 2 + 64);
    }

   private:
    std::vector<std::uint32_t> stamps_;
    std::uint32_t now_ = 1;
};

// A value for every id, which is a default value until it is set.
template <class T>
class PerState {
   public:
    explicit PerState(T nothing) : nothing_(nothing) {}
    T operator[](StateId id) const { return id < values_.size() ? values_[id] : nothing_; }
    T &at(StateId id) {
        if (id >= values_.size()) values_.resize(Stamps::grown(values_.size(), id), nothing_);
        return values_[id];
    }
    // All entries that may have been set.
    std::vector<T> &entries() { return values_; }
    void clear() { values_.assign(values_.size(), nothing_); }
    std::size_t bytes() const { return values_.capacity() * sizeof(T); }

   private:
    T nothing_;
    std::vector<T> values_;
};

}  // namespace misstep::safety
