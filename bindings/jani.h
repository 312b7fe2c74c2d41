#pragma once

#include <nanobind/stl/shared_ptr.h>

#include "bindings.h"
#include "jani/engine.h"

namespace misstep::bindings {

// Conversion of states from and to Python, where a state is a tuple of values in the order of the variables. Throws a
// ModelError if the values are not a state.
std::vector<jani::Word> to_words(const jani::Model &model, nb::handle state);
nb::tuple to_state(const jani::Model &model, const jani::Word *values);

// Throws IndexError if the engine has no such state.
inline StateId checked(const jani::Engine &engine, StateId id) {
    if (id >= engine.size()) throw nb::index_error("no such state");
    return id;
}

}  // namespace misstep::bindings
