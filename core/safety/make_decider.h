#pragma once

#include <memory>
#include <string_view>

#include "safety/decider.h"

namespace misstep::safety {

// localfix, tarjan, lrtdp, lao, vi or ipi; tarjan-published, whose answers are sometimes wrong; null for any other
// name. The seed is for lrtdp.
std::unique_ptr<Decider> make_decider(std::string_view kind, System &system, std::uint64_t seed);

}  // namespace misstep::safety
