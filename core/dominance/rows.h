#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dominance/function.h"

namespace misstep::dominance {

// The abstract states of the stored states in one factoring: a column for each factor.
//
// A query is compared with all of them at once. For each factor, the row and the column of its table that belong to the query
// are copied to vectors, and the entries at the abstract states of each stored state are added up. This is done in blocks, and
// factors with many -infinities come first, so that most blocks end after one or two factors.
class Rows {
   public:
    virtual ~Rows() = default;
    virtual std::unique_ptr<Rows> clone() const = 0;
    // Uses numbers of 32 bits if all sums fit, otherwise numbers of 64 bits.
    static std::unique_ptr<Rows> make(const Function &function, int factoring);

    // False: a part of the state was pruned, so the state is not compared.
    virtual bool add(std::uint32_t row, const int *values) = 0;
    virtual bool set_query(const int *values) = 0;

    // Position of a row among the members, -1 if it is none. Members keep their position.
    int member(std::uint32_t row) const { return row < member_of_.size() ? member_of_[row] : -1; }
    std::uint32_t row(int member) const { return row_of_[member]; }
    int size() const { return static_cast<int>(row_of_.size()); }

    // D(member, query) and D(query, member) for a range of members, or for a list of them; -infinity is MINUS_INFINITY.
    // Nothing is computed for a null pointer.
    static constexpr int BLOCK = 512;
    virtual void compare(int first, int count, Cost *dominated, Cost *dominating) = 0;
    virtual void compare(const int *members, int count, Cost *dominated, Cost *dominating) = 0;

    virtual std::size_t bytes() const = 0;

   protected:
    std::vector<int> member_of_;  // by row
    std::vector<std::uint32_t> row_of_;
};

}  // namespace misstep::dominance
