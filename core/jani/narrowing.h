#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "jani/expression.h"

namespace misstep::jani {

// What conditions leave of the values of slots, as intervals ("hull consistency").
//
// Each condition is looked at from its leaves to its root, with the values that every part can have, and then back, with
// those that it must have for the whole to hold. `on_3 is not 5, or height_3 = height_5 + 1` says nothing about heights
// until on_3 is known to be 5; then the one height follows from the other. A slot that changes wakes up the conditions
// that read it. Parts that are real-valued, or of operators that nobody has written down here, are left as they are: what
// is ruled out has no solution, what is left need not have one.
class Narrowing {
   public:
    struct Interval {
        Word low, high;
        bool fixed() const { return low == high; }
        bool operator==(const Interval &) const = default;
    };

    // Only conditions that have a result in every state may be given.
    Narrowing(const Expressions &expressions, const std::vector<ExprId> &conditions, std::vector<Interval> slots);

    const Interval &operator[](SlotId slot) const { return slots_[slot]; }

    // Draw consequences of all conditions. False: no state satisfies them.
    bool start();
    // Draw consequences of a smaller interval of a slot. False: no value is left, and the caller has to backtrack.
    bool restrict(SlotId slot, Interval interval);

    // Whether everything in a condition was understood: then a state in which all slots are fixed satisfies it.
    bool understood(std::size_t condition) const { return understood_[condition]; }

    // A moment to go back to.
    std::size_t mark() const { return trail_.size(); }
    void go_back(std::size_t mark);

   private:
    struct Part {
        Op op;
        bool known;  // integers and Booleans, by an operator that we can reason about
        bool boolean;
        Word word, length;
        std::int32_t arguments[3];
    };
    struct Condition {
        std::vector<Part> parts;  // arguments before operators, the whole last
    };

    bool settle();
    bool revise(const Condition &condition);
    Interval forward(const Part &part) const;
    bool backward(const Part &part, const Interval &need);
    bool meet(std::int32_t part, Word low, Word high);
    bool meet_slot(SlotId slot, const Interval &need);
    Interval &possible(const Part &part, int argument) { return possible_[part.arguments[argument]]; }

    std::vector<Condition> conditions_;
    std::vector<bool> understood_;
    std::vector<std::vector<std::uint32_t>> readers_;  // of a slot
    std::vector<Interval> slots_;
    std::vector<Interval> possible_;                   // of each part of the condition at hand
    std::vector<std::uint32_t> waiting_;
    std::vector<bool> waits_;
    std::vector<std::pair<SlotId, Interval>> trail_;
};

}  // namespace misstep::jani
