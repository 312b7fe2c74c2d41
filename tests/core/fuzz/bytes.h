#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace misstep::test {

// Numbers from the bytes of the fuzzer; zeros when they are used up.
class Bytes {
   public:
    Bytes(const std::uint8_t *data, std::size_t size) : data_(data), left_(size) {}
    bool empty() const { return left_ == 0; }
    template <class T>
    T take() {
        T value{};
        const std::size_t size = left_ < sizeof value ? left_ : sizeof value;
        std::memcpy(&value, data_, size);
        data_ += size;
        left_ -= size;
        return value;
    }
    int below(int count) { return take<std::uint8_t>() % count; }
    template <class T>
    std::vector<T> list(std::size_t most) {
        const std::size_t count = take<std::uint8_t>() % (most + 1);
        std::vector<T> values;
        while (values.size() < count && !empty()) values.push_back(take<T>());
        return values;
    }

   private:
    const std::uint8_t *data_;
    std::size_t left_;
};

}  // namespace misstep::test
