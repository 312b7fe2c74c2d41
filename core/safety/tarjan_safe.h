#pragma once

#include "safety/tarjan_search.h"

namespace misstep::safety {

// TarjanSafe: a depth-first search for a safe strategy that assumes nodes in progress to be safe, and uses strongly connected
// components to find out when such an assumption has been proven.
//
// Why it is sound:
//   - A node that fails is removed from the stack at once, together with all nodes above it, since they may rely on it. If they
//     stayed there, a later label would find them and take them for safe.
//   - "Not safe" needs no component: a node fails only if each label within its budget has an outcome that failed for certain.
//     Assumptions can prevent failures, but never cause them.
//   - "Safe" is certain when the root of a component completes, and then for all nodes of the component: the label of each leads
//     only to nodes that are known to be safe or that are in the component.
//   - When a label fails, no node is discarded. The published version discards nodes there, which takes exponential time on families
//     of tasks where it happens at each level. Here nodes are discarded only together with a new "not safe", which bounds the work
//     by the square of the number of nodes. The abandoned nodes stay above and may depend on ancestors, so the node keeps its low
//     link.
class TarjanSafe : public TarjanSearch {
   public:
    using TarjanSearch::TarjanSearch;

   protected:
    Outcome advance(Frame &frame, StateId &child) override;
    void end(std::uint32_t position, bool failed) override;
};

}  // namespace misstep::safety
