#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace misstep::safety {

// Memory for records that never move and are freed together.
class Arena {
   public:
    std::uint32_t *allocate(std::size_t words) {
        if (words > left_) {
            const std::size_t size = std::max<std::size_t>(words, BLOCK);
            blocks_.push_back(std::make_unique<std::uint32_t[]>(size));
            next_ = blocks_.back().get();
            left_ = size;
            total_ += size;
        }
        std::uint32_t *record = next_;
        next_ += words;
        left_ -= words;
        return record;
    }
    void clear() {
        blocks_.clear();
        left_ = total_ = 0;
    }
    std::size_t bytes() const { return total_ * sizeof(std::uint32_t); }

   private:
    static constexpr std::size_t BLOCK = 1 << 14;
    std::vector<std::unique_ptr<std::uint32_t[]>> blocks_;
    std::uint32_t *next_ = nullptr;
    std::size_t left_ = 0;
    std::size_t total_ = 0;
};

}  // namespace misstep::safety
