#pragma once

#include <vector>

#include "base/limits.h"
#include "base/types.h"

namespace misstep {

// plan: a plan was found. exhausted: no state is left to expand. limit: a limit ended the search.
enum class Status { plan, exhausted, limit };

inline const char *name(Status status) {
    return status == Status::plan ? "plan" : status == Status::exhausted ? "exhausted" : "limit";
}

struct SearchResult {
    Status status = Status::limit;
    Limit limit = Limit::none;  // which one, if status is `limit`
    std::vector<OperatorId> plan;
    Cost cost = INFINITE_COST;
    // No plan is cheaper than this. With `exhausted`, INFINITE_COST proves that there is no plan at all. An incomplete
    // search gives a smaller bound.
    Cost lower_bound = 0;
    Progress progress;
    std::uint64_t registered = 0;  // distinct states
};

}  // namespace misstep
