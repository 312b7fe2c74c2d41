#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/packer.h"
#include "base/registry.h"
#include "dominance/rows.h"

namespace misstep::dominance {

// States with upper bounds u on h*, and the bounds that follow from them by dominance: h*(t) <= u(s) - D(s, t). If such a bound is
// negative, D or u is wrong: a Contradiction.
//
// Not every state with a bound is kept as a source. If u(x) - D(x, s) <= u(s), then x gives every state at least as good a bound as
// s does, by the triangle inequality D(x, s) + D(s, t) <= D(x, t), and x serves s. Pulling compares with sources only. The
// inequality holds within one factoring but not for the maximum over several, so each factoring has its own sources. It need not
// hold where values were truncated, and there no source is dropped.
class ComparisonIndex {
   public:
    explicit ComparisonIndex(const Function &function);
    // Adding many rows takes a comparison of each with all sources, so an index that starts with the same rows is copied.
    ComparisonIndex(const ComparisonIndex &other);

    std::uint32_t add(const int *values);  // returns the row of the state, which is the same each time
    std::uint32_t size() const { return static_cast<std::uint32_t>(bounds_.size()); }
    void state(std::uint32_t row, int *values) const;
    Cost bound(std::uint32_t row) const { return bounds_[row]; }
    void set_bound(std::uint32_t row, Cost bound);  // bounds only decrease: a higher one is ignored
    void set_bounds(std::span<const Cost> bounds);  // one for each row; negative: none

    struct Pull {
        Cost bound = INFINITE_COST;
        std::uint32_t row = NO_STATE;
    };
    // The lowest u(s) - D(s, t), and a row that gives it.
    Pull pull(const int *dominating);

    struct Push {
        std::vector<std::uint32_t> rows;
        std::vector<Cost> bounds;
    };
    // All rows s with u - D(t, s) < u(s), in order; they get these bounds.
    Push push(const int *dominated, Cost bound);

    // Both in one pass over the rows: pushes the better of `bound` and what was pulled.
    struct Exchange {
        Pull pull;
        Push push;
    };
    Exchange exchange(const int *values, Cost bound);

    std::size_t sources() const;  // all factorings together
    std::size_t bytes() const;

   private:
    // The sources of one factoring, as members of its rows.
    struct Sources {
        std::vector<int> list;
        std::vector<int> place;  // by member; -1: not a source
        bool transitive;
        void activate(int member);
        void drop(int member);
        bool contains(int member) const { return member < static_cast<int>(place.size()) && place[member] >= 0; }
    };
    std::uint32_t find(const int *values) const;
    void consider(Pull &pull, std::uint32_t row, Cost value) const;
    void lower(std::uint32_t row, Cost bound);
    void settle(std::size_t factoring, std::uint32_t row, const int *values);
    Push apply(const int *values, Cost bound, const std::vector<Cost> &values_of_rows);

    const Function &function_;
    StatePacker packer_;
    StateRegistry registry_;
    std::vector<Cost> bounds_;
    std::vector<std::unique_ptr<Rows>> rows_;  // by factoring
    std::vector<Sources> sources_;
    std::vector<Cost> in_, out_;  // scratch
    mutable std::vector<std::uint64_t> packed_;
};

}  // namespace misstep::dominance
