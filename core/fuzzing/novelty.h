#pragma once

#include <cstdint>
#include <vector>

#include "base/registry.h"
#include "fdr/task.h"

namespace misstep {

// Which facts (arity 1), pairs (2) or triples of facts (3) occur in the states inserted so far.
//
// A state is novel if it has a tuple that occurs in none of them. A new fact makes new pairs and triples, so tuples of the
// full size are enough, except in a task with fewer variables. Testing and inserting are separate, because a test must not
// change the results of later tests.
//
// Facts and pairs are bits of one array, indexed by (variable, variable, value, value); triples, and pairs whose array
// would be too large, are kept in a hash set of numbers. The set has a limited size. When it is full, tuples that are not
// in it always count as new, so a full store calls more states novel, never fewer.
class NoveltyStore {
   public:
    static constexpr int MAX_ARITY = 3;
    static constexpr std::uint64_t MAX_BITS = std::uint64_t{1} << 31;
    static constexpr std::uint64_t MAX_TUPLES = std::uint64_t{1} << 25;  // of the set: less than a gigabyte

    NoveltyStore(const Task &task, int arity, std::uint64_t max_bits = MAX_BITS, std::uint64_t max_tuples = MAX_TUPLES);

    bool is_novel(const int *values) const;
    void insert(const int *values);

    std::uint64_t tuples() const { return tuples_; }  // distinct ones that are kept
    bool full() const { return full_; }               // some tuple could not be inserted

   private:
    template <class Visit>  // returns false to stop
    void for_each_tuple(const int *values, Visit &&visit) const;
    template <class Visit>
    void for_each_triple(const int *values, Visit &&visit) const;
    bool contains(std::uint64_t tuple) const;

    const Task &task_;
    int arity_;
    std::uint64_t max_tuples_;
    bool full_ = false;
    std::vector<std::uint64_t> first_;  // where the tuples of a variable, or of a pair of variables, begin
    std::uint64_t tuples_ = 0;
    std::vector<std::uint64_t> bits_;  // empty: the set is in use
    StateRegistry set_{1};
};

}  // namespace misstep
