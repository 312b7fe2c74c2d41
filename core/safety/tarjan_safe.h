#pragma once

#include "safety/budget_decider.h"

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
class TarjanSafe : public BudgetDecider {
   public:
    explicit TarjanSafe(System &system) : BudgetDecider(system) {}
    std::size_t bytes() const override;

   protected:
    void solve(StateId id, Radius radius, Meter &meter) override;

   private:
    static constexpr std::uint32_t NONE = ~0U;
    struct Node {
        StateId state;
        Radius budget;
        std::uint32_t low;
        std::uint32_t below;   // the next node of the same state further down, with another budget
        std::uint32_t action;  // of a completed node
    };
    struct Frame {
        std::uint32_t position;  // of its node
        Actions actions;
        Ranking ranking;
        std::uint32_t rank;   // of the label being tried
        std::uint32_t next;   // outcome; NONE: the next label has to be tried
        Radius left;          // budget after that label
    };
    enum class Outcome : std::uint8_t { child, completed, failed };

    std::uint32_t find(StateId id, Radius budget) const;
    void push(StateId id, Radius budget, Meter &meter);
    void pop_to(std::uint32_t position);
    Outcome advance(Frame &frame, StateId &child);

    std::vector<Node> stack_;
    std::vector<Frame> frames_;
    PerState<std::uint32_t> on_stack_{NONE};  // the topmost node of each state
};

}  // namespace misstep::safety
