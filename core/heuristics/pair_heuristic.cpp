#include "heuristics/pair_heuristic.h"

namespace misstep {

PairFF::PairFF(std::shared_ptr<const RelaxedTask> relaxed)
    : exploration_(std::move(relaxed)), plan_(exploration_) {}

void PairFF::explore(const int *source) { exploration_.explore(source); }

Cost PairFF::distance(const int *target) {
    const RelaxedTask &relaxed = exploration_.relaxed();
    plan_.start();
    for (int v = 0; v < relaxed.variable_count(); ++v) plan_.add(relaxed.fact(v, target[v]));
    return plan_.finish();
}

void PairFF::all_pairs(std::span<const int> states, int count, Direction direction, std::vector<Cost> &result) {
    const std::size_t variables = exploration_.relaxed().variable_count();
    const std::size_t n = count;
    result.assign(n * n, NOT_ASKED);
    for (std::size_t i = 0; i < n; ++i) {
        result[i * n + i] = 0;
        const std::size_t begin = direction == Direction::FORWARD ? i + 1 : 0;
        const std::size_t end = direction == Direction::BACKWARD ? i : n;
        if (begin >= end || n == 1) continue;
        explore(states.data() + i * variables);
        for (std::size_t j = begin; j < end; ++j)
            if (j != i) result[i * n + j] = distance(states.data() + j * variables);
    }
}

}  // namespace misstep
