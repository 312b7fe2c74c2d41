#include "heuristics/relaxation_heuristics.h"

#include <algorithm>

#include "base/interrupt.h"

namespace misstep {

namespace {
template <class Exploration>
std::vector<std::int32_t> aim(Exploration &exploration, std::span<const Fact> goal) {
    std::vector<std::int32_t> facts;
    facts.reserve(goal.size());
    for (const Fact &fact : goal) facts.push_back(exploration.relaxed().fact(fact.variable, fact.value));
    std::sort(facts.begin(), facts.end());
    facts.erase(std::unique(facts.begin(), facts.end()), facts.end());
    exploration.set_goal(facts);
    return facts;
}
}  // namespace

HMax::HMax(std::shared_ptr<const RelaxedTask> relaxed) : exploration_(std::move(relaxed)) {
    set_goal(exploration_.relaxed().task().goal());
}

void HMax::set_goal(std::span<const Fact> goal) { goal_ = aim(exploration_, goal); }

Cost HMax::evaluate(const int *values) {
    let_interrupt(HEAVY);
    if (!exploration_.explore_to_goal(values)) return INFINITE_COST;
    Cost result = 0;
    for (const std::int32_t fact : goal_) result = std::max<Cost>(result, exploration_.cost(fact));
    return result;
}

HAdd::HAdd(std::shared_ptr<const RelaxedTask> relaxed) : exploration_(std::move(relaxed)) {
    set_goal(exploration_.relaxed().task().goal());
}

void HAdd::set_goal(std::span<const Fact> goal) { goal_ = aim(exploration_, goal); }

Cost HAdd::evaluate(const int *values) {
    let_interrupt(HEAVY);
    if (!exploration_.explore_to_goal(values)) return INFINITE_COST;
    Cost result = 0;
    for (const std::int32_t fact : goal_) result += exploration_.cost(fact);
    return result;
}

HFF::HFF(std::shared_ptr<const RelaxedTask> relaxed) : exploration_(std::move(relaxed)), plan_(exploration_) {
    set_goal(exploration_.relaxed().task().goal());
}

void HFF::set_goal(std::span<const Fact> goal) { goal_ = aim(exploration_, goal); }

Cost HFF::evaluate(const int *values) {
    let_interrupt(HEAVY);
    plan_.start();
    if (!exploration_.explore_to_goal(values)) return INFINITE_COST;
    for (const std::int32_t fact : goal_) plan_.add(fact);
    return plan_.finish();
}

}  // namespace misstep
