#pragma once

#include "base/limits.h"
#include "jani/engine.h"
#include "safety/game.h"
#include "safety/system.h"

namespace misstep::safety {

// The part of a JANI task that can be reached from some states, with its probabilities: by all labels, or only by the labels of a
// policy. If a limit ends the exploration, the states that are left are OPEN, and bounds can still be computed for the game.
//
// States are numbered in the order in which they were found, the roots first.
class GameSpace {
   public:
    // `limits.expansions` counts states. If there is a `policy`, only its labels are followed, otherwise all labels.
    GameSpace(std::shared_ptr<jani::Engine> engine, std::span<const StateId> roots, System *policy,
              const Limits &limits);

    const Game &game() const { return game_; }
    Limit limit() const { return limit_; }
    StateId root_count() const { return root_count_; }
    StateId engine_id(StateId s) const { return ids_[s]; }
    StateId number_of(StateId engine_id) const { return engine_id < numbers_.size() ? numbers_[engine_id] : NO_STATE; }
    jani::Engine &engine() { return *engine_; }
    std::size_t bytes() const;

   private:
    void count_factors(const std::vector<jani::Vector> &vectors);
    StateId number(StateId engine_id);
    void explore(System *policy, const Limits &limits);
    void add(StateId s, System *policy, jani::Weighted &scratch);
    void leave_open();

    std::shared_ptr<jani::Engine> engine_;
    Game game_;
    Limit limit_ = Limit::none;
    StateId root_count_ = 0;
    std::vector<StateId> ids_, numbers_;
};

}  // namespace misstep::safety
