#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fdr/state_space.h"
#include "heuristics/relaxation_heuristics.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// Recognises states without a plan, so that walks avoid them (line 8 of the papers' fuzzers). It may miss a dead end,
// which wastes a test. It may never call a solvable state a dead end, because that would hide bugs.
class DeadEnds {
   public:
    virtual ~DeadEnds() = default;
    virtual bool is_dead(const int *values) = 0;
};

class NoDeadEnds : public DeadEnds {
   public:
    bool is_dead(const int *) override { return false; }
};

// States from which the goal cannot be reached in the delete relaxation. The papers use this test.
class RelaxedDeadEnds : public DeadEnds {
   public:
    explicit RelaxedDeadEnds(std::shared_ptr<const RelaxedTask> relaxed) : hmax_(std::move(relaxed)) {}
    bool is_dead(const int *values) override { return hmax_.evaluate(values) == INFINITE_COST; }

   private:
    HMax hmax_;
};

// An exhausted greedy search is a proof as well. A search that its budget ends proves nothing.
class SearchDeadEnds : public DeadEnds {
   public:
    SearchDeadEnds(const SuccessorGenerator &generator, std::shared_ptr<const RelaxedTask> relaxed,
                   std::uint64_t expansions)
        : generator_(generator), hff_(std::move(relaxed)), expansions_(expansions) {}
    bool is_dead(const int *values) override;

   private:
    const SuccessorGenerator &generator_;
    HFF hff_;
    std::uint64_t expansions_;
};

// All dead ends, if the whole state space is known.
class ExactDeadEnds : public DeadEnds {
   public:
    explicit ExactDeadEnds(const StateSpace &space) : space_(space) {}
    bool is_dead(const int *values) override {
        const StateId id = space_.find(values);
        return id != NO_STATE && space_.h_star()[id] == INFINITE_COST;
    }

   private:
    const StateSpace &space_;
};

}  // namespace misstep
