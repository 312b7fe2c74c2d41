#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace misstep::jani {

// A value of any type is one 64-bit word: integers exactly, Booleans as 0 and 1, reals as the bits of a double. The
// type is known where the value is used, so it is not stored with the word.
enum class Type : std::uint8_t { boolean, integer, real };
using Word = std::int64_t;

inline double as_real(Word word) { return std::bit_cast<double>(word); }
inline Word from_real(double value) { return std::bit_cast<Word>(value); }
// Reals in states are compared bit by bit, so a negative zero is stored as zero.
inline Word stored_real(double value) { return std::bit_cast<Word>(value + 0.0); }

const char *name(Type type);
std::string text(Type type, Word value);

// An error of the model, for example an assignment outside the bounds of a variable or a division by zero. `where` is the
// JSON path of its cause. `unsupported` is set where the model is valid, but Misstep cannot handle it.
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
