#include "jani/space.h"

#include <algorithm>
#include <limits>

namespace misstep::jani {

Space::Space(std::shared_ptr<const Task> task, const std::vector<std::vector<Word>> &roots, const Limits &limits,
             bool raw)
    : engine_(std::move(task)) {
    LimitWatch watch(limits);
    if (roots.empty()) {
        const auto all = engine_.all_initial(std::numeric_limits<std::uint64_t>::max(), [&] {
            limit_ = watch.check(progress_, [&] { return bytes(); });
            return limit_ == Limit::none;
        });
        if (!all) return;
        for (StateId id : *all) number(id, NO_STATE, SILENT);
    }
    for (const std::vector<Word> &root : roots) number(engine_.intern(root.data()), NO_STATE, SILENT);
    root_count_ = static_cast<StateId>(engine_ids_.size());
    explore(watch, raw);
}

StateId Space::number(StateId engine_id, StateId parent, LabelId label) {
    if (engine_id >= numbers_.size())
        numbers_.resize(std::max<std::size_t>(engine_.size(), numbers_.size() * 3 / 2), NO_STATE);
    StateId &number = numbers_[engine_id];
    if (number == NO_STATE) {
        number = static_cast<StateId>(engine_ids_.size());
        engine_ids_.push_back(engine_id);
        parents_.push_back(parent);
        parent_labels_.push_back(label);
    }
    return number;
}

void Space::explore(LimitWatch &watch, bool raw) {
    for (StateId s = 0; s < engine_ids_.size(); ++s) {
        limit_ = watch.check(progress_, [&] { return bytes(); });
        if (limit_ != Limit::none) return;
        const StateId id = engine_ids_[s];
        const Expansion expansion = raw ? engine_.expand_raw(id) : engine_.expand(id);
        for (std::size_t i = 0; i < expansion.labels.size(); ++i) {
            labels_.push_back(expansion.labels[i]);
            for (StateId outcome : expansion.of(i)) outcomes_.push_back(number(outcome, s, expansion.labels[i]));
            outcome_offsets_.push_back(outcomes_.size());
        }
        label_offsets_.push_back(labels_.size());
        const bool stuck = expansion.labels.empty();
        kinds_.push_back(engine_.is_unsafe(id) ? UNSAFE : engine_.is_goal(id) ? GOAL : stuck ? DEAD_END : INNER);
        ++progress_.expansions;
        progress_.evaluations = progress_.generated = outcomes_.size();
    }
}

std::size_t Space::bytes() const {
    return engine_.bytes() +
           (engine_ids_.capacity() + numbers_.capacity() + outcomes_.capacity() + parents_.capacity()) *
               sizeof(StateId) +
           (labels_.capacity() + parent_labels_.capacity()) * sizeof(LabelId) + kinds_.capacity() +
           (label_offsets_.capacity() + outcome_offsets_.capacity()) * sizeof(std::uint64_t);
}

}  // namespace misstep::jani
