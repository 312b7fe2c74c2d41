#include "safety/oracle_shield.h"

#include <algorithm>

namespace misstep::safety {

bool OracleShield::is_safe(std::span<const StateId> outcomes) {
    // An outcome that is known not to be safe makes a search for the others unnecessary.
    if (std::any_of(outcomes.begin(), outcomes.end(),
                    [&](StateId t) { return decider_->known(t, UNBOUNDED) == Answer::not_safe; }))
        return false;
    return std::all_of(outcomes.begin(), outcomes.end(),
                       [&](StateId t) { return decider_->decide(t, UNBOUNDED, limits_).answer == Answer::safe; });
}

LabelId OracleShield::choose(StateId id, std::span<const LabelId>) {
    System &system = decider_->system();
    const Actions actions = system.actions(id);
    const Ranking ranking = system.by_policy(id);
    const LabelId own = system.decision(id);
    for (std::uint32_t rank = 0; rank < actions.count(); ++rank) {
        if (!is_safe(actions.outcomes(ranking[rank]))) continue;
        const LabelId label = actions.label(ranking[rank]);
        if (label != own) ++corrected_;
        return label;
    }
    ++unguarded_;
    return own;
}

std::vector<LabelId> OracleShield::allowed(StateId id) {
    System &system = decider_->system();
    std::vector<LabelId> result;
    if (system.kind(id) != Kind::open) return result;
    const Actions actions = system.actions(id);
    if (actions.count() == 0) return result;
    const Ranking ranking = system.by_policy(id);
    for (std::uint32_t rank = 0; rank < actions.count(); ++rank)
        if (is_safe(actions.outcomes(ranking[rank]))) result.push_back(actions.label(ranking[rank]));
    return result;
}

}  // namespace misstep::safety
