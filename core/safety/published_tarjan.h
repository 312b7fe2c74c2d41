#pragma once

#include "safety/budget_decider.h"

namespace misstep::safety {

// TarjanSafe to the letter of the paper (its Algorithm 2). It gives wrong answers and is here to be compared with, nothing else.
//
// Where it differs from ours (tarjan_safe.h), and what comes of it:
//   - An outcome "in the current call's component" is passed over as if it were safe, also if it has failed already: failed nodes stay
//     on the stack until the root of their component returns. Some states that are not safe are called safe.
//   - A node that closed a cycle into an ancestor is trusted after that ancestor has failed, with the same effect.
//   - Only the root of a component is remembered as safe, so that the others are searched again and again: exponential time.
// One thing is not to the letter: yes[s] is at first larger than the unbounded radius. With infinity, as printed, every state would be
// safe within the unbounded radius before anything is searched.
//
// What it takes for known is therefore not proven, and it has no strategies.
class PublishedTarjan : public BudgetDecider {
   public:
    explicit PublishedTarjan(System &system) : BudgetDecider(system) {}
    std::size_t bytes() const override;

   protected:
    void solve(StateId id, Radius radius, Meter &meter) override;
    std::uint32_t choice(StateId, bool) override;

   private:
    static constexpr std::uint32_t NONE = ~0U;
    struct Node {
        StateId state;
        Radius budget;
        std::uint32_t low;
        std::uint32_t below;  // the next node of the same state further down, with another budget
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

    std::uint32_t find(StateId id, Radius budget) const;
    void push(StateId id, Radius budget, Meter &meter);
    void pop_to(std::uint32_t position);
    Outcome advance(Frame &frame, StateId &child);

    std::vector<Node> stack_;
    std::vector<Frame> frames_;
    PerState<std::uint32_t> on_stack_{NONE};  // the topmost node of each state
};

}  // namespace misstep::safety
