#pragma once

#include <cstdint>
#include <vector>

#include "base/registry.h"
#include "fdr/successors.h"
#include "policygraph/policy.h"

namespace misstep {

// How a run ends. `open`: not known yet, because a state on the way has not been asked about.
enum class Outcome : std::uint8_t { open, goal, loop, stuck, inapplicable, error, cut, timeout };

const char *name(Outcome outcome);

// Where a run from a state leads.
struct RunEnd {
    Outcome outcome = Outcome::open;
    std::uint32_t steps = 0;  // operators applied until the outcome is known
    Cost cost = 0;            // of these operators
};

// What a policy does, state by state.
//
// A deterministic policy gives every state at most one successor, so its decisions form a functional graph: from each
// state one path leads on, until a goal, a state without a decision, or back into itself. A policy is asked once
// per state and the answer stays. How the run from a state ends is a property of the state, remembered once known, for
// all states on the way at the same time. It does not depend on the order of the questions: a loop counts its steps
// up to the first state seen twice, wherever the detection happened to enter the loop.
class PolicyGraph {
   public:
    explicit PolicyGraph(const SuccessorGenerator &generator);

    const SuccessorGenerator &generator() const { return generator_; }
    const Task &task() const { return generator_.task(); }
    StateId size() const { return registry_.size(); }
    StateId add(const int *values);
    StateId find(const int *values) const;
    void values(StateId id, int *result) const { generator_.packer().unpack(registry_[id], result); }

    bool is_goal(StateId id) const { return is_goal_[id] != 0; }
    // Goals are never asked about.
    bool is_decided(StateId id) const { return decisions_[id] != UNASKED || is_goal(id); }
    // The operator, NO_ACTION or FAILED; UNASKED if the policy was not asked.
    OperatorId decision(StateId id) const { return decisions_[id]; }
    StateId successor(StateId id) const { return successors_[id]; }  // NO_STATE if there is none
    std::uint64_t decided() const { return decided_; }

    // Stores an answer: an operator, NO_ACTION or FAILED. An operator that does not apply is kept as such and ends
    // the run there. The first answer stands: returns false if the state has another one already.
    bool decide(StateId id, OperatorId answer);

    // How the run from the state ends, as far as it is known.
    RunEnd end(StateId id);
    // The same if the run is cut after `max_steps`; open only if a state before that has not been asked about.
    RunEnd end(StateId id, std::uint32_t max_steps);

    // States whose decision leads to this one, in the order in which they were decided.
    void predecessors(StateId id, std::vector<StateId> &result) const;

    std::size_t bytes() const;

    static constexpr OperatorId UNASKED = -3;

   private:
    void remember(const std::vector<StateId> &path, StateId entry);

    const SuccessorGenerator &generator_;
    StateRegistry registry_;
    std::uint64_t decided_ = 0;
    std::vector<std::uint64_t> packed_;
    std::vector<int> values_;

    std::vector<OperatorId> decisions_;
    std::vector<StateId> successors_;
    std::vector<StateId> last_predecessor_;   // lists, linked from the newest to the oldest
    std::vector<StateId> next_predecessor_;
    std::vector<RunEnd> ends_;
    std::vector<std::uint32_t> marks_;  // position on the path being followed, 0 for none
    std::vector<char> is_goal_;
    std::vector<StateId> path_;
};

}  // namespace misstep
