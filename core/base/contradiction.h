#pragma once

#include <stdexcept>

namespace misstep {

// Two claims that are both said to be proven contradict each other. Nothing that rests on either can be trusted, so
// this is thrown in all builds and must end the work.
struct Contradiction : std::logic_error {
    using std::logic_error::logic_error;
};

}  // namespace misstep
