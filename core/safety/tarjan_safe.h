#pragma once

#include "safety/tarjan_search.h"

namespace misstep::safety {

// TarjanSafe: a depth-first search for a safe strategy that assumes nodes in progress to be safe, and finds out by strongly
// connected components when such an assumption has come true.
//
// What keeps it sound, beyond the idea:
//   - A node that failed is gone from the stack at once, and with it all nodes above: they may have relied on it. Nodes left there
//     would be met by a later label and taken for safe.
//   - "No" needs no component: a node fails only if each label it can afford has an outcome that failed for certain.
//     Assumptions can prevent failures, never cause them.
//   - "Yes" is certain when the root of a component completes, then for all of the component: each of its labels leads to nodes known
//     to be safe or within the component.
//   - A failing label discards nothing. Discarding then, as published, takes exponential time on families where it happens at each
//     level; this way each discarding goes with a new "no", which bounds the work by nodes times nodes. The abandoned
//     nodes stay above and may depend on ancestors, so the node's low link stays as well.
class TarjanSafe : public TarjanSearch {
   public:
    using TarjanSearch::TarjanSearch;

   protected:
    Outcome advance(Frame &frame, StateId &child) override;
    void end(std::uint32_t position, bool failed) override;
};

}  // namespace misstep::safety
