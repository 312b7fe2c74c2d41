#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dominance/function.h"

namespace misstep::dominance {

// The stored states as one factoring sees them: a column of abstract states for each factor.
//
// A query is compared with all of them at once. For each factor the row and the column of its table that belong to the
// query are laid out as vectors, and each stored state adds up the entries at its abstract states. This is done in blocks,
// factors with many -infinities first, so that most blocks are given up after one or two factors.
class Rows {
   public:
    virtual ~Rows() = default;
    virtual std::unique_ptr<Rows> clone() const = 0;
    // Numbers of 32 bits where all sums fit, else of 64.
    static std::unique_ptr<Rows> make(const Function &function, int factoring);

    // False: a part of the state was pruned, and the state takes no part in comparisons.
    virtual bool add(std::uint32_t row, const int *values) = 0;
    virtual bool set_query(const int *values) = 0;

    // Position of a row among the members, -1: none. Members keep their place.
    int member(std::uint32_t row) const { return row < member_of_.size() ? member_of_[row] : -1; }
    std::uint32_t row(int member) const { return row_of_[member]; }
    int size() const { return static_cast<int>(row_of_.size()); }

    // D(member, query) and D(query, member) for a range of members, or for a list of them; -infinity is MINUS_INFINITY.
    // A null pointer asks for nothing.
    static constexpr int BLOCK = 512;
    virtual void compare(int first, int count, Cost *dominated, Cost *dominating) = 0;
    virtual void compare(const int *members, int count, Cost *dominated, Cost *dominating) = 0;

    virtual std::size_t bytes() const = 0;

   protected:
    std::vector<int> member_of_;  // by row
    std::vector<std::uint32_t> row_of_;
};

}  // namespace misstep::dominance
