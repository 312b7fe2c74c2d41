#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fdr/task.h"

namespace misstep {

// Which facts (arity 1) or pairs of facts (arity 2) occur in the states inserted so far.
//
// A state is novel if it has one that occurs in none of them. A new fact makes new pairs, so pairs alone are enough for
// arity 2, except in a task with a single variable. Testing and inserting are separate: a test must not change
// what later tests say.
//
// Pairs are bits of one array, indexed by (variable, variable, value, value); if that array would be too large they
// live in a hash set instead. Counting how often each occurs is for the metric of unique pairs, and takes a hash map.
class NoveltyStore {
   public:
    static constexpr std::uint64_t MAX_BITS = std::uint64_t{1} << 31;

    NoveltyStore(const Task &task, int arity, bool counting = false, std::uint64_t max_bits = MAX_BITS);

    bool is_novel(const int *values) const;
    void insert(const int *values);

    // How many of the states inserted have the tuple that is the rarest of those of this state; counting stores only. If that is
    // one for a state that was inserted, it has a tuple of its own.
    std::uint64_t rarest(const int *values) const;
    std::uint64_t tuples() const { return tuples_; }  // distinct ones

   private:
    template <class Visit>  // returns false to stop
    void for_each_tuple(const int *values, Visit &&visit) const;
    bool contains(std::uint64_t tuple) const;

    const Task &task_;
    int arity_;
    bool counting_;
    std::vector<std::uint64_t> first_;  // where the tuples of a variable, or of a pair of variables, begin
    std::uint64_t tuples_ = 0;
    std::vector<std::uint64_t> bits_;  // empty: the sets below are in use
    std::unordered_set<std::uint64_t> set_;
    std::unordered_map<std::uint64_t, std::uint64_t> counts_;
};

}  // namespace misstep
