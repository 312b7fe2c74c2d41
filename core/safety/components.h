#pragma once

#include <functional>
#include <vector>

#include "safety/game.h"

namespace misstep::safety {

// The strongly connected components of a game, in an order in which every component comes after all that it can get to: a sweep
// in this order needs each component once. The states of one lie together, those found last first, which is about the order
// in which values flow back.
struct Components {
    std::vector<StateId> states;
    std::vector<std::size_t> offsets{0};
    std::size_t count() const { return offsets.size() - 1; }
    std::span<const StateId> of(std::size_t c) const {
        return {states.data() + offsets[c], offsets[c + 1] - offsets[c]};
    }
};

// Tarjan's algorithm without recursion. The memory of one searcher serves many searches on parts of the game.
class ComponentSearch {
   public:
    explicit ComponentSearch(const Game &game) : game_(game), found_(game.size(), 0), low_(game.size()) {}

    // Of the whole game.
    Components all();
    // Of some states, along edges that stay among them: those for which `stays` is true.
    Components within(std::span<const StateId> states, const std::function<bool(std::uint64_t edge)> &stays);

    // The maximal end components of two states or more inside some states that have one label each: sets in which
    // the environment can stay for ever. All states of one have the same risk.
    std::vector<std::vector<StateId>> end_components(std::span<const StateId> states);

   private:
    template <class Next>
    void search(StateId root, Next &&next, Components &result);

    const Game &game_;
    std::vector<std::uint32_t> found_;  // when; 0: not yet; DONE: its component is complete
    std::vector<std::uint32_t> low_;
    std::vector<StateId> stack_;
    std::uint32_t clock_ = 0;
    std::vector<std::uint32_t> owner_;  // the set at work that a state is in
    std::uint32_t set_ = 0;
};

}  // namespace misstep::safety
