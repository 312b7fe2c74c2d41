#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace misstep::jani {

// A value of any type is one 64-bit word: integers exactly, Booleans as 0 and 1, reals as the bits of a double. The
// type is known where the value is used, so words carry none.
enum class Type : std::uint8_t { boolean, integer, real };
using Word = std::int64_t;

inline double as_real(Word word) { return std::bit_cast<double>(word); }
inline Word from_real(double value) { return std::bit_cast<Word>(value); }
// Reals in states are compared bit by bit, so there is one zero only.
inline Word stored_real(double value) { return std::bit_cast<Word>(value + 0.0); }

const char *name(Type type);
std::string text(Type type, Word value);

// An error of the model: it leaves the bounds of a variable, or divides by zero. `where` is the JSON path of the
// culprit. `unsupported` is set where the model is fine, and only we cannot handle it.
struct ModelError : std::runtime_error {
    explicit ModelError(const std::string &what, std::string where = "", std::string expected = "",
                        std::string hint = "", bool unsupported = false)
        : std::runtime_error(what),
          where(std::move(where)),
          expected(std::move(expected)),
          hint(std::move(hint)),
          unsupported(unsupported) {}
    std::string where;
    std::string expected;
    std::string hint;
    bool unsupported;
};

}  // namespace misstep::jani
