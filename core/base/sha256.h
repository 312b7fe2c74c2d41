#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace misstep {

using Sha256 = std::array<std::uint8_t, 32>;

// The SHA-256 of FIPS 180-4, for short texts such as rows of a database. Files are hashed in Python.
Sha256 sha256(std::string_view text);

}  // namespace misstep
