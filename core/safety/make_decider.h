#pragma once

#include <memory>
#include <string_view>

#include "safety/decider.h"

namespace misstep::safety {

// Names: localfix, tarjan, lrtdp, lao, vi, ipi, and tarjan-published, whose answers are sometimes wrong. Returns null for any
// other name. The seed is for lrtdp.
std::unique_ptr<Decider> make_decider(std::string_view kind, System &system, std::uint64_t seed);

}  // namespace misstep::safety
