#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/types.h"

namespace misstep {

enum class Ties { first_in, last_in };

// A priority queue of state ids under keys (primary, secondary), lowest first.
//
// A search has many entries but few distinct keys, so entries of one key share a bucket, and an ordered map over the
// buckets works for costs of any size. Looking the bucket up in the map would be the most expensive part of
// an insertion, so a small direct-mapped table remembers the buckets of recent keys.
template <Ties ties>
class OpenList {
   public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    Cost lowest() const { return buckets_.begin()->first.primary; }  // undefined if empty

    void push(Cost primary, Cost secondary, StateId id) {
        const Key key{primary, secondary};
        Recent &recent = recent_[(static_cast<std::uint64_t>(primary) * 31 + static_cast<std::uint64_t>(secondary)) %
                                 recent_.size()];
        if (recent.bucket == nullptr || !(recent.key == key)) recent = {key, &buckets_[key]};
        recent.bucket->ids.push_back(id);
        ++size_;
    }

    StateId pop() {
        const auto first = buckets_.begin();
        Bucket &bucket = first->second;
        StateId id;
        if constexpr (ties == Ties::last_in) {
            id = bucket.ids.back();
            bucket.ids.pop_back();
        } else {
            id = bucket.ids[bucket.head++];
        }
        --size_;
        if (bucket.head == bucket.ids.size()) {
            for (Recent &recent : recent_)
                if (recent.bucket == &bucket) recent.bucket = nullptr;
            buckets_.erase(first);
        }
        return id;
    }

    std::size_t bytes() const {
        std::size_t total = 0;
        for (const auto &[key, bucket] : buckets_)
            total += sizeof(Bucket) + 64 + bucket.ids.capacity() * sizeof(StateId);
        return total;
    }

   private:
    struct Key {
        Cost primary;
        Cost secondary;
        friend bool operator==(const Key &, const Key &) = default;
        friend auto operator<=>(const Key &, const Key &) = default;
    };
    struct Bucket {
        std::vector<StateId> ids;
        std::size_t head = 0;  // used by first_in only: entries before it have been popped
    };
    struct Recent {
        Key key;
        Bucket *bucket = nullptr;
    };

    std::map<Key, Bucket> buckets_;
    std::array<Recent, 64> recent_{};
    std::size_t size_ = 0;
};

}  // namespace misstep
