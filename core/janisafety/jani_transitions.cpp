#include "janisafety/jani_transitions.h"

namespace misstep::safety {

std::uint8_t JaniTransitions::flags(StateId id) {
    if (engine_->is_unsafe(id)) return UNSAFE;
    return engine_->is_goal(id) ? GOAL : PLAIN;
}

void JaniTransitions::expand(StateId id, Expansion &result) {
    const jani::Expansion expansion = engine_->expand(id);
    result.labels.assign(expansion.labels.begin(), expansion.labels.end());
    result.offsets.assign(expansion.offsets.begin(), expansion.offsets.end());
    result.outcomes.assign(expansion.outcomes.begin(), expansion.outcomes.end());
}

void JaniTransitions::labels(StateId id, std::vector<LabelId> &result) {
    const std::span<const jani::LabelId> labels = engine_->applicable(id);
    result.assign(labels.begin(), labels.end());
}

void JaniTransitions::outcomes(StateId id, LabelId label, std::vector<StateId> &result) {
    const std::span<const StateId> outcomes = engine_->outcomes(id, label);
    result.assign(outcomes.begin(), outcomes.end());
}

void JaniTransitions::probabilities(StateId id, LabelId label, std::vector<StateId> &outcomes,
                                    std::vector<double> &chances) {
    this->outcomes(id, label, outcomes);
    const std::span<const double> found = engine_->probabilities(id, label);
    chances.assign(found.begin(), found.end());
}

std::string JaniTransitions::label_name(LabelId label) const {
    return engine_->model().labels().at(static_cast<std::size_t>(label));
}

}  // namespace misstep::safety
