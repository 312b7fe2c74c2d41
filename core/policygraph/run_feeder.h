#pragma once

#include <vector>

#include "improve/plan_graph.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// Brings the transitions along the runs of a policy into a plan graph: those of runs that reach a goal give bounds at
// once, those of all others pass bounds back to where they come from. Each decision is taken in once.
//
// Runs merge, and a run that was cut may go on later. So every state that was taken in points to the next one, and the
// pointers are shortened as they are followed (union-find): from any state it is a few steps to the first
// one on its run that has not been taken in.
class RunFeeder {
   public:
    RunFeeder(const PolicyGraph &policy, PlanGraph &plans) : policy_(policy), plans_(plans) {}

    // Follows the run from a state as far as the policy was asked.
    void feed(StateId start);

   private:
    StateId first_missing(StateId id);
    StateId plan_id(StateId id);

    const PolicyGraph &policy_;
    PlanGraph &plans_;
    std::vector<StateId> next_;   // itself: not taken in, or the last state of a loop
    std::vector<char> is_closed_;  // the loop has been taken in up to this state
    std::vector<int> values_;
};

}  // namespace misstep
