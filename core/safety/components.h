#pragma once

#include <functional>
#include <vector>

#include "safety/game.h"

namespace misstep::safety {

// The strongly connected components of a game, in an order in which every component comes after all components that it can reach:
// values can be computed component by component in this order. The states of a component lie together, those found last first,
// which is roughly the order in which values propagate back.
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
    // Of the given states, along the edges for which `stays` is true. These edges must lead to given states only.
    Components within(std::span<const StateId> states, const std::function<bool(std::uint64_t edge)> &stays);

    // The maximal end components of two states or more among the given states, which have one label each: sets of states in
    // which the environment can stay for ever. All states of an end component have the same risk.
    std::vector<std::vector<StateId>> end_components(std::span<const StateId> states);

   private:
    template <class Next>
    void search(StateId root, Next &&next, Components &result);

    const Game &game_;
    std::vector<std::uint32_t> found_;  // the time when a state was found; 0: not yet; DONE: its component is complete
    std::vector<std::uint32_t> low_;
    std::vector<StateId> stack_;
    std::uint32_t clock_ = 0;
    std::vector<std::uint32_t> owner_;  // by state: the number of the set that it is in, compared with `set_`
    std::uint32_t set_ = 0;
};

}  // namespace misstep::safety
