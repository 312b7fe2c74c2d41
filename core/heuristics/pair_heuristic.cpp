#include "heuristics/pair_heuristic.h"

#include "base/interrupt.h"

namespace misstep {

PairFF::PairFF(std::shared_ptr<const RelaxedTask> relaxed) : exploration_(std::move(relaxed)), plans_(exploration_) {}

void PairFF::explore(const int *source) {
    source_.assign(source, source + exploration_.relaxed().variable_count());
    exploration_.explore(source);
    plans_.reset();
}

Cost PairFF::distance(const int *target) {
    let_interrupt(HEAVY);
    const RelaxedTask &relaxed = exploration_.relaxed();
    plans_.start();
    for (int v = 0; v < relaxed.variable_count(); ++v)
        if (target[v] != source_[v]) plans_.add(relaxed.fact(v, target[v]));
    return plans_.cost();
}

// Adds the facts of a state to the goal.
void PairFF::extend_goal(const int *state) {
    const RelaxedTask &relaxed = exploration_.relaxed();
    for (int v = 0; v < relaxed.variable_count(); ++v) {
        const std::int32_t fact = relaxed.fact(v, state[v]);
        if (in_goal_[fact]) continue;
        in_goal_[fact] = 1;
        goal_.push_back(fact);
    }
}

void PairFF::all_pairs(std::span<const int> states, int count, Direction direction, std::vector<Cost> &result) {
    const std::size_t variables = exploration_.relaxed().variable_count();
    const std::size_t n = count;
    result.assign(n * n, NOT_ASKED);
    // An exploration may stop when the facts of all its targets are settled. Sources are visited in the order in which
    // the set of targets grows.
    in_goal_.assign(exploration_.relaxed().fact_count(), 0);
    goal_.clear();
    if (direction == Direction::BOTH)
        for (std::size_t i = 0; i < n; ++i) extend_goal(states.data() + i * variables);
    for (std::size_t turn = 0; turn < n; ++turn) {
        const std::size_t i = direction == Direction::FORWARD ? n - 1 - turn : turn;
        const int *source = states.data() + i * variables;
        result[i * n + i] = 0;
        const std::size_t begin = direction == Direction::FORWARD ? i + 1 : 0;
        const std::size_t end = direction == Direction::BACKWARD ? i : n;
        if (begin < end && n > 1) {
            exploration_.set_goal(goal_);
            source_.assign(source, source + variables);
            exploration_.explore_to_goal(source);
            plans_.reset();
            for (std::size_t j = begin; j < end; ++j)
                if (j != i) result[i * n + j] = distance(states.data() + j * variables);
        }
        if (direction != Direction::BOTH) extend_goal(source);
    }
}

}  // namespace misstep
