#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "fdr/task.h"

namespace misstep {

// The text is not a SAS file. `line` counts from 1.
struct SasError : std::runtime_error {
    SasError(std::string what, std::string expected, int line)
        : std::runtime_error(std::move(what)), expected(std::move(expected)), line(line) {}
    std::string expected;
    int line;
};

// Reads the output format of the Fast Downward translator, version 3. Every count and every index is checked
// before it is used, so that a cut, damaged or hostile file gives a SasError and nothing else.
Task read_sas(std::string_view text);

}  // namespace misstep
