#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace misstep {

using Sha256 = std::array<std::uint8_t, 32>;

// The SHA-256 of FIPS 180-4, for short texts: rows of a database. Whoever hashes files does that in Python.
Sha256 sha256(std::string_view text);

}  // namespace misstep
