#pragma once

#include "safety/budget_decider.h"

namespace misstep::safety {

// The depth-first search for a safe strategy that both versions of TarjanSafe share: nodes are pairs of a state and the budget left,
// on Tarjan's stack with low links, and a node tries its labels one after the other, each outcome by outcome.
//
// A version defines which outcomes need a search of their own (`advance`), and what becomes known when a node ends (`end`).
class TarjanSearch : public BudgetDecider {
   public:
    explicit TarjanSearch(System &system) : BudgetDecider(system) {}
    std::size_t bytes() const override;

   protected:
    static constexpr std::uint32_t NONE = ~0U;
    struct Node {
        StateId state;
        Radius budget;
        std::uint32_t low;
        std::uint32_t below;   // the next node of the same state further down, with another budget
        std::uint32_t action;  // of a completed node
    };
    struct Frame {
        std::uint32_t position;  // of its node, which is its index as well
        Actions actions;
        Ranking ranking;
        std::uint32_t rank;  // of the label being tried
        std::uint32_t next;  // outcome; NONE: the next label has to be tried
        Radius left;         // budget after that label
    };
    enum class Outcome : std::uint8_t { child, completed, failed };

    void solve(StateId id, Radius radius, Meter &meter) final;

    // Continues until an outcome has to be searched first, or the node needs no more search.
    virtual Outcome advance(Frame &frame, StateId &child) = 0;
    // Called for a node whose frame has been removed: one of its labels has no failed outcome, or (`failed`) every label has one.
    virtual void end(std::uint32_t position, bool failed) = 0;

    std::uint32_t find(StateId id, Radius budget) const;
    void pop_to(std::uint32_t position);

    std::vector<Node> stack_;
    std::vector<Frame> frames_;

   private:
    void push(StateId id, Radius budget, Meter &meter);

    PerState<std::uint32_t> on_stack_{NONE};  // the topmost node of each state
};

}  // namespace misstep::safety
