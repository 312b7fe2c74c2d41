#pragma once

#include <functional>
#include <vector>

#include "fdr/match_tree.h"
#include "fdr/task.h"

namespace misstep {

// All pairs (s, o) with s[o] = t, for a given t.
//
// An operator can have led to t if its effects hold in t and so do its preconditions on variables it does
// not change. The old value of a changed variable is its precondition; where there is none, every value of the domain
// is a possible old value, and each gives a predecessor of its own. States found this way need not be reachable.
class PredecessorGenerator {
   public:
    explicit PredecessorGenerator(const Task &task);  // throws Unsupported for axioms and conditional effects

    // Operators that can have led to the state, in increasing order.
    void operators(const int *values, std::vector<OperatorId> &result) const;
    // Calls emit with the values of each predecessor under the operator.
    void for_each_predecessor(OperatorId op, const int *values, const std::function<void(const int *)> &emit) const;

   private:
    const Task &task_;
    MatchTree tree_;
    std::vector<std::vector<int>> free_variables_;  // changed without a precondition
};

}  // namespace misstep
