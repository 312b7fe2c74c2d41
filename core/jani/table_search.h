#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "jani/expression.h"

namespace misstep::jani {

// Finds the states that satisfy many small conditions over small domains, such as "each block lies on another one, and a
// block on block 3 is one higher than block 3".
//
// The values that a slot has left are the bits of one word. A condition with few combinations of values is a table: for each
// combination of values of all its slots but one, the table has the values that the last slot may take. So propagation is a
// look-up of one word. Larger conditions are evaluated for each value of their last slot. This is "forward checking": a
// condition has no effect before all its slots but one are fixed. It rules out less than intervals do (narrowing.h), but takes
// a hundredth of the time.
class TableSearch {
   public:
    struct Condition {
        std::size_t name;  // what `holds` is called with
        std::vector<SlotId> support;
    };
    // Whether a condition holds for the values in the registers of its support. It must have a result for all values.
    using Holds = std::function<bool(std::size_t)>;
    static constexpr std::size_t MOST_VALUES = 64;              // of a slot
    static constexpr std::uint64_t ASK_EVERY = 1 << 12;  // steps from one call of `go_on` to the next

    // Domains may have at most MOST_VALUES values. The search writes the registers of the slots.
    TableSearch(std::vector<std::vector<Word>> domains, std::vector<Condition> conditions, Word *registers,
                Holds holds);

    // Calls `found` once for each solution, with the solution in the registers. False: it took more than `max_steps` steps, or
    // `go_on`, which is called now and then, returned false. With `hurry` it also gives up early if the part that was searched so
    // far is so small that the whole search would take far more than `max_steps` steps.
    bool enumerate(std::uint64_t max_steps, const std::function<void()> &found, const std::function<bool()> &go_on = {},
                   bool hurry = false);

    // A random solution, not uniform, in the registers. False: the search failed.
    bool descend(CounterRandom &random);

   private:
    struct Table {
        std::vector<std::size_t> strides;
        std::vector<std::vector<std::uint64_t>>
            allowed;  // for each slot of the support, at the index in which its own value is 0
    };
    struct Choice {
        SlotId slot;
        std::uint64_t all, rest;  // its values, and those that are still to be tried
        std::size_t mark;
    };
    struct Change {
        SlotId slot;
        bool fixed;          // the slot was fixed
        std::uint64_t left;  // otherwise: the values that it had left before
    };

    void tabulate(std::size_t condition);
    bool start();
    bool propagate();
    bool choose(SlotId slot, std::uint64_t value);
    bool settle();
    bool filter(std::size_t condition);
    std::uint64_t allowed(std::size_t condition, std::size_t position);
    void go_back(std::size_t mark);
    static double share_done(const std::vector<Choice> &choices);
    std::optional<SlotId> next_slot() const;

    std::vector<std::vector<Word>> domains_;
    std::vector<Condition> conditions_;
    Word *registers_;
    Holds holds_;
    std::vector<std::optional<Table>> tables_;
    std::vector<std::vector<std::uint32_t>> readers_;
    std::vector<std::uint32_t> open_;  // slots of a condition that are not fixed
    std::vector<std::uint64_t> left_;
    std::vector<bool> fixed_;
    std::vector<std::uint32_t> value_;  // of a fixed slot, as a number of its domain
    std::vector<double> weight_;
    std::vector<SlotId> waiting_;
    std::vector<Change> trail_;
    std::optional<bool> started_;
};

}  // namespace misstep::jani
