#pragma once

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unordered_map.h>

#include "bindings.h"
#include "safety/decider.h"

namespace misstep::bindings {

// A radius from Python, where None means without a bound. A safe strategy with finitely many deviations needs no more of them
// than there are states, so a larger number is replaced by the largest radius.
inline safety::Radius radius_of(std::optional<std::uint64_t> radius) {
    if (!radius) return safety::UNBOUNDED;
    return static_cast<safety::Radius>(std::min<std::uint64_t>(*radius, safety::UNBOUNDED - 1));
}
inline nb::object radius_to_python(safety::Radius radius) {
    if (radius == safety::UNBOUNDED) return nb::float_(std::numeric_limits<double>::infinity());
    return radius == safety::NOT_KNOWN ? nb::none() : nb::object(nb::int_(radius));
}

}  // namespace misstep::bindings
