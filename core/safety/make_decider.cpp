#include "safety/make_decider.h"

#include "safety/lao.h"
#include "safety/local_fix.h"
#include "safety/lrtdp.h"
#include "safety/policy_iteration.h"
#include "safety/published_tarjan.h"
#include "safety/tarjan_safe.h"
#include "safety/value_iteration.h"

namespace misstep::safety {

std::unique_ptr<Decider> make_decider(std::string_view kind, System &system, std::uint64_t seed) {
    if (kind == "localfix") return std::make_unique<LocalFix>(system);
    if (kind == "tarjan") return std::make_unique<TarjanSafe>(system);
    if (kind == "lrtdp") return std::make_unique<Lrtdp>(system, seed);
    if (kind == "lao") return std::make_unique<Lao>(system);
    if (kind == "vi") return std::make_unique<ValueIteration>(system);
    if (kind == "ipi") return std::make_unique<PolicyIteration>(system);
    if (kind == "tarjan-published") return std::make_unique<PublishedTarjan>(system);
    return nullptr;
}

}  // namespace misstep::safety
