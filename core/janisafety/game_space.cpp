#include "janisafety/game_space.h"

#include <algorithm>

namespace misstep::safety {

GameSpace::GameSpace(std::shared_ptr<jani::Engine> engine, std::span<const StateId> roots, System *policy,
                     const Limits &limits)
    : engine_(std::move(engine)) {
    for (const auto &vectors : engine_->model().vectors()) count_factors(vectors);
    count_factors(engine_->model().environment());
    for (StateId root : roots) number(root);
    root_count_ = static_cast<StateId>(ids_.size());
    explore(policy, limits);
}

// Each automaton of a vector multiplies its probability into a weight, and each of its non-deterministic assignments divides it.
void GameSpace::count_factors(const std::vector<jani::Vector> &vectors) {
    for (const jani::Vector &vector : vectors) {
        std::uint32_t factors = 0;
        for (std::uint32_t group : vector.groups) {
            std::ptrdiff_t most = 0;
            for (const jani::Edge &edge : engine_->model().groups()[group].edges)
                for (const jani::Destination &own : edge.destinations)
                    most = std::max(most, std::ranges::count(own.assignments, true, &jani::Assignment::selects));
            factors += 1 + static_cast<std::uint32_t>(most);
        }
        game_.factors = std::max(game_.factors, factors);
    }
}

StateId GameSpace::number(StateId engine_id) {
    if (engine_id >= numbers_.size())
        numbers_.resize(std::max<std::size_t>(engine_->size(), numbers_.size() * 3 / 2), NO_STATE);
    StateId &number = numbers_[engine_id];
    if (number == NO_STATE) {
        number = static_cast<StateId>(ids_.size());
        ids_.push_back(engine_id);
    }
    return number;
}

void GameSpace::explore(System *policy, const Limits &limits) {
    LimitWatch watch(limits);
    Progress progress;
    jani::Weighted scratch;
    StateId prepared = 0;
    for (StateId s = 0; s < ids_.size(); ++s) {
        limit_ = watch.check(progress, [&] { return bytes() + (policy == nullptr ? 0 : policy->bytes()); });
        if (limit_ != Limit::none) return leave_open();
        if (policy != nullptr && s == prepared) {  // a new layer: the policy may evaluate all its states together
            prepared = static_cast<StateId>(ids_.size());
            std::vector<StateId> layer;
            for (StateId t = s; t < prepared; ++t)
                if (policy->kind(ids_[t]) == Kind::open) layer.push_back(ids_[t]);
            policy->prepare(layer);
        }
        add(s, policy, scratch);
        ++progress.expansions;
        progress.generated = game_.outcomes.size();
    }
}

void GameSpace::add(StateId s, System *policy, jani::Weighted &scratch) {
    const StateId id = ids_[s];
    std::uint8_t kind = engine_->is_unsafe(id) ? Game::UNSAFE : engine_->is_goal(id) ? Game::GOAL : Game::INNER;
    if (kind == Game::INNER) {
        LabelId only = jani::SILENT;
        bool stops = false;
        if (policy != nullptr) {
            only = policy->decision(id);
            stops = only == NO_LABEL;
        }
        if (!stops) {
            engine_->expand_weighted(id, scratch, only);
            if (scratch.labels.empty()) kind = Game::DEAD_END;
        } else {
            kind = engine_->is_dead_end(id) ? Game::DEAD_END : Game::STOP;
        }
    }
    if (kind == Game::INNER) {
        for (std::size_t l = 0; l < scratch.labels.size(); ++l) {
            for (std::uint32_t e = scratch.edges_of[l]; e < scratch.edges_of[l + 1]; ++e) {
                for (std::uint32_t o = scratch.outcomes_of[e]; o < scratch.outcomes_of[e + 1]; ++o) {
                    game_.outcomes.push_back(number(scratch.outcomes[o]));
                    game_.weights.push_back(scratch.weights[o]);
                }
                game_.outcomes_of.push_back(game_.outcomes.size());
            }
            game_.labels.push_back(scratch.labels[l]);
            game_.edges_of.push_back(game_.outcomes_of.size() - 1);
        }
    }
    game_.kinds.push_back(kind);
    game_.labels_of.push_back(game_.labels.size());
}

void GameSpace::leave_open() {
    for (StateId s = static_cast<StateId>(game_.kinds.size()); s < ids_.size(); ++s) {
        const StateId id = ids_[s];
        game_.kinds.push_back(engine_->is_unsafe(id) ? Game::UNSAFE : engine_->is_goal(id) ? Game::GOAL : Game::OPEN);
        game_.labels_of.push_back(game_.labels.size());
    }
}

std::size_t GameSpace::bytes() const {
    return engine_->bytes() + game_.bytes() + (ids_.capacity() + numbers_.capacity()) * sizeof(StateId);
}

}  // namespace misstep::safety
