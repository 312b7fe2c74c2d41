#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256.h"

// The digest of the rows of a campaign, as `misstep.campaigns.seal` defines it: the SHA-256 of the text that Python's
// `ascii` writes for a tuple of a table's name and its values, and the sum of such digests modulo 2^256. It is native,
// because in Python it would take most of the time of a cheap campaign.

namespace misstep {

// Writes a tuple of values as Python's `ascii` does.
class RowText {
   public:
    void add_none() { add("None"); }
    void add_integer(std::int64_t value);
    void add_text(std::string_view utf8);  // well-formed UTF-8, as Python hands it out
    void add_bytes(std::string_view bytes);
    void add_digest(std::string_view bytes);  // ('sha256', '...'): the digest of a large value, instead of the value
    void add(std::string_view written);       // a value that the caller has written

    // The digest of the row, after which a new row begins.
    Sha256 finish();

   private:
    std::string text_ = "(";
    std::size_t values_ = 0;
};

// A number modulo 2^256.
class DigestSum {
   public:
    void add(const Sha256 &digest);
    std::uint64_t count() const { return count_; }
    Sha256 bytes() const;  // the most significant byte first

   private:
    std::array<std::uint64_t, 4> words_{};  // the least significant word first
    std::uint64_t count_ = 0;
};

}  // namespace misstep
