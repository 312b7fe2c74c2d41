#include "safety/budget_decider.h"

namespace misstep::safety {

Facts BudgetDecider::stored(StateId id) const {
    Facts facts;
    facts.lost = no_[id] == static_cast<std::int32_t>(UNBOUNDED);
    facts.lower = facts.lost ? 0 : static_cast<Radius>(no_[id] + 1);
    if (yes_[id] < UNBOUNDED) facts.upper = yes_[id];
    facts.safe = yes_[id] <= UNBOUNDED;
    return facts;
}

void BudgetDecider::forget_policy() {
    // A strategy with few deviations from the old policy is still a safe strategy, with an unknown number of deviations.
    for (Radius &yes : yes_.entries())
        if (yes < UNBOUNDED) yes = UNBOUNDED;
    for (std::int32_t &no : no_.entries())
        if (no < static_cast<std::int32_t>(UNBOUNDED)) no = NO_BUDGET;
}

std::size_t BudgetDecider::bytes() const { return yes_.bytes() + no_.bytes() + actions_.bytes(); }

}  // namespace misstep::safety
