#pragma once

#include "safety/tarjan_search.h"

namespace misstep::safety {

// TarjanSafe exactly as in the paper (its Algorithm 2). It gives wrong answers and is here only for comparison.
//
// It differs from our version (tarjan_safe.h) as follows:
//   - An outcome "in the current call's component" is skipped as if it were safe, also if it has failed already: failed nodes stay on
//     the stack until the root of their component returns. So some states that are not safe are called safe.
//   - A node that closed a cycle into an ancestor is still trusted after that ancestor has failed, with the same effect.
//   - Only the root of a component is remembered as safe. The other nodes are searched again and again, in exponential time.
// One thing differs from the paper: yes[s] is at first larger than the unbounded radius. With infinity, as printed,
// every state would be safe within the unbounded radius before anything is searched.
//
// Its results are therefore not proven, and it has no strategies.
class PublishedTarjan : public TarjanSearch {
   public:
    using TarjanSearch::TarjanSearch;

   protected:
    Outcome advance(Frame &frame, StateId &child) override;
    void end(std::uint32_t position, bool failed) override;
    std::uint32_t choice(StateId, bool) override;
};

}  // namespace misstep::safety
