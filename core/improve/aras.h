#pragma once

#include <limits>

#include "bounds/bound_store.h"

namespace misstep {

struct ArasOptions {
    std::uint64_t growth = 1000;  // generated states around each state of the plan, doubled in each iteration
    std::uint64_t iterations = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t generated = std::numeric_limits<std::uint64_t>::max();
    Cost stop_below = 0;    // stop at any plan cheaper than this
    bool eliminate = true;  // false: plan neighbourhood graph search alone
};

// closed: the plan is a cheapest one, because everything that is reachable from its start is known. below: it is
// cheaper than `stop_below`. limit: a limit ended the search.
enum class ArasStatus { closed, below, limit };

inline const char *name(ArasStatus status) {
    return status == ArasStatus::closed ? "closed" : status == ArasStatus::below ? "below" : "limit";
}

struct ArasResult {
    ArasStatus status = ArasStatus::limit;
    Limit limit = Limit::none;  // which one, if status is `limit`
    Plan plan;
    Cost cost = 0;
    Cost initial_cost = 0;
    std::uint64_t iterations = 0;
    Progress progress;
};

// Aras: action elimination and plan neighbourhood graph search in turn. Each starts from the result of the other.
//
// Whatever ends it, the result is a plan from `start` that has been executed and costs at most what the given one
// costs. The store keeps all that was seen. Throws InvalidPlan if `plan` is not a plan.
ArasResult aras(BoundStore &store, const int *start, std::span<const OperatorId> plan, const ArasOptions &options,
                const Limits &limits);

}  // namespace misstep
