#include "fuzzing/dead_ends.h"

#include "search/gbfs.h"

namespace misstep {

bool SearchDeadEnds::is_dead(const int *values) {
    Limits limits;
    limits.expansions = expansions_;
    const SearchResult result = GreedyBestFirst(generator_, hff_, values).run(limits);
    return result.status == Status::exhausted && result.lower_bound == INFINITE_COST;
}

}  // namespace misstep
