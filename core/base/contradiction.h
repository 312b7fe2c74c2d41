#pragma once

#include <stdexcept>

namespace misstep {

// Two statements that are both said to be proven exclude each other. Nothing that rests on either can be trusted, so this is
// thrown in all builds and must end the work, however it came about.
struct Contradiction : std::logic_error {
    using std::logic_error::logic_error;
};

}  // namespace misstep
