#pragma once

#include <unordered_map>

#include "safety/budget_decider.h"

namespace misstep::safety {

// iPI: policy iteration by passes.
//
// Each node, a state with the number of deviations left, has a current label. It moves on to the next label only when an outcome of
// the current one is lost for certain, and never goes back. A pass follows the current labels depth-first and moves nodes on where
// it has to. A node whose outcomes are all safe for certain is safe. A pass that moves no node on has found a set of nodes that is
// closed under current labels, and all of them are safe. Every other pass uses up a label somewhere, so there are at most as many
// passes as labels. (The method was published for the unbounded case; with a budget the nodes take the place of the states.)
class PolicyIteration : public BudgetDecider {
   public:
    explicit PolicyIteration(System &system) : BudgetDecider(system) {}
    std::size_t bytes() const override;

   protected:
    void solve(StateId id, Radius radius, Meter &meter) override;
    void forget_policy() override;

   private:
    struct Node {
        StateId state;
        Radius budget;
        std::uint32_t rank;  // of the current label
    };
    struct Frame {
        std::uint32_t node;
        Actions actions;
        Ranking ranking;
        std::uint32_t next;  // outcome
        bool tentative;      // relies on a node that is still open
    };
    enum class Outcome : std::uint8_t { child, tentative, safe, failed };

    std::uint32_t intern(StateId id, Radius budget);
    Outcome pass(std::uint32_t root, bool &moved, Meter &meter);
    Outcome advance(Frame &frame, std::uint32_t &child, bool &moved);
    void push(std::uint32_t node, Meter &meter);

    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t> ids_;
    std::vector<Frame> frames_;
    Stamps seen_;                       // nodes, in this pass
    std::vector<std::uint32_t> order_;  // the same
};

}  // namespace misstep::safety
