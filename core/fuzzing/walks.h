#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "fuzzing/dead_ends.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// The successors that a walk may take next.
//
// A fuzzer spends its time in the inner loop of the papers' algorithms: list the successors of a state, drop those that are
// not worth a test, run the policy from the others, weigh them, choose one. Python runs that loop; this library does the
// work inside it.
//
//   walks.h         successors that survive, and whole walks if no bias asks for the policy
//   partial_runs.h  runs of the policy from all survivors, within the budgets of an expansion, in batches
//   trace_biases.h  the weight of such a run: how bad it looks
//   estimates.h     the distances that the biases use
//   select.h        the choice of a successor by weight
//   novelty.h       the filter for states that enter the pool
//
// Everything that is found out about a state (a dead end, its decision, its estimate, its explorations) is kept under its
// id in the policy graph. All walks start from the same pool, so they visit the same states many times, and a step of a
// walk mostly reads what is known. What is kept never changes a result: it is a function of the state, or of the state and
// the number of steps.
//
// The caller passes the random numbers, one stream per iteration of the outer loop. The number of draws depends on the
// walk alone, never on batches or on what is known already.
class Walks {
   public:
    struct Rules {
        bool skip_goals = true;  // P24; P22 walks through goals
        bool skip_stuck = true;  // states without an applicable operator
    };
    struct Successor {
        OperatorId op;
        StateId state;
    };

    Walks(PolicyGraph &graph, DeadEnds &dead_ends, Rules rules);

    // Successors that survive, by operator.
    const std::vector<Successor> &successors(StateId state);
    // The same in random order.
    const std::vector<Successor> &successors(StateId state, CounterRandom &random);

    // A walk that takes one of the survivors at each step, chosen uniformly; it ends early if there are none. The first
    // survivor in random order is such a choice, so the others need not be examined.
    StateId uniform_walk(StateId from, std::uint32_t length, CounterRandom &random, std::vector<OperatorId> &walk);

   private:
    bool survives(StateId state);
    bool examine(StateId state);
    StateId successor(OperatorId op);
    void enter(StateId state);

    PolicyGraph &graph_;
    DeadEnds &dead_ends_;
    Rules rules_;
    std::vector<char> verdicts_;  // by state: 0 not known, 1 survives, 2 does not
    std::vector<int> values_;     // of the state entered last
    std::vector<int> other_;
    std::vector<OperatorId> operators_;
    std::vector<Successor> successors_;
    std::vector<OperatorId> scratch_;
};

}  // namespace misstep
