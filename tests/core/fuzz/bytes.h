#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace misstep::test {

// How many inputs were accepted and used. A fuzzer whose inputs are all refused at the door finds nothing behind it, however
// long it runs, so replay.cpp asks for a share of them.
inline std::size_t accepted = 0;

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
    // True for few inputs. What is wrong in one place only is refused last, or not at all.
    bool rarely() { return take<std::uint8_t>() == 255; }
    // A place in a list of this size, and rarely any other number.
    int index(std::size_t count) {
        return rarely() || count == 0 ? take<int>() : take<std::uint8_t>() % static_cast<int>(count);
    }

   private:
    const std::uint8_t *data_;
    std::size_t left_;
};

}  // namespace misstep::test

// What a fuzzer claims of an input. It ends the program if it does not hold, which is how libFuzzer learns of a finding.
#define REQUIRE(claim)                                                                     \
    do {                                                                                   \
        if (!(claim)) {                                                                    \
            std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #claim); \
            std::abort();                                                                  \
        }                                                                                  \
    } while (false)
