#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "jani/expression.h"

namespace misstep::jani {

// The values of slots that conditions allow, as intervals ("hull consistency").
//
// For each condition, a pass from the leaves to the root computes the values that every part can have, and a pass back
// computes those that it must have for the whole to hold. `on_3 is not 5, or height_3 = height_5 + 1` says nothing about
// heights until on_3 is known to be 5; then one height follows from the other. When a slot changes, the conditions that
// read it are revised again. Parts that are real-valued, or that have an operator that is not handled here, are left as
// they are. Values that are ruled out are in no solution; values that are left need not be in one.
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

    // Propagates all conditions. False: no state satisfies them.
    bool start();
    // Makes the interval of a slot smaller and propagates it. False: no value is left, and the caller has to backtrack.
    bool restrict(SlotId slot, Interval interval);

    // Whether all parts of a condition are handled: then the condition holds in a state in which all slots are fixed.
    bool understood(std::size_t condition) const { return understood_[condition]; }

    // A point to backtrack to.
    std::size_t mark() const { return trail_.size(); }
    void go_back(std::size_t mark);

   private:
    struct Part {
        Op op;
        bool known;  // of integer or Boolean type, with an operator that is handled
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
    std::vector<Interval> possible_;                   // of each part of the current condition
    std::vector<std::uint32_t> waiting_;
    std::vector<bool> waits_;
    std::vector<std::pair<SlotId, Interval>> trail_;
};

}  // namespace misstep::jani
