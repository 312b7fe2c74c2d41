#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace misstep {

// A state as a value: what users hold, store and exchange. It depends on no task object and no process. Searches work
// on packed states and ids instead.
class State {
   public:
    explicit State(std::vector<int> values) : values_(std::move(values)) {}

    const std::vector<int> &values() const { return values_; }
    std::uint64_t hash() const;
    std::string text() const;                   // the values, separated by blanks
    static State parse(std::string_view text);  // throws std::invalid_argument

    friend bool operator==(const State &a, const State &b) { return a.values_ == b.values_; }
    friend auto operator<=>(const State &a, const State &b) { return a.values_ <=> b.values_; }

    // The task whose domains the values were last checked against (0: none), so that the check is done once.
    mutable std::uint64_t checked_for = 0;

   private:
    std::vector<int> values_;
};

}  // namespace misstep
