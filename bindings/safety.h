#pragma once

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unordered_map.h>

#include "bindings.h"
#include "safety/decider.h"

namespace misstep::bindings {

// A radius as Python gives it: none is without bound. No strategy needs more deviations than there are states, so a number
// beyond what ids can count is as good as the largest one.
inline safety::Radius radius_of(std::optional<std::uint64_t> radius) {
    if (!radius) return safety::UNBOUNDED;
    return static_cast<safety::Radius>(std::min<std::uint64_t>(*radius, safety::UNBOUNDED - 1));
}
inline nb::object radius_to_python(safety::Radius radius) {
    if (radius == safety::UNBOUNDED) return nb::float_(std::numeric_limits<double>::infinity());
    return radius == safety::NOT_KNOWN ? nb::none() : nb::object(nb::int_(radius));
}

}  // namespace misstep::bindings
