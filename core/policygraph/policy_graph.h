#pragma once

#include <cstdint>
#include <vector>

#include "base/registry.h"
#include "fdr/successors.h"
#include "policygraph/policy.h"

namespace misstep {

// How a run ends. `open`: not known yet, because the policy was not asked in some state of the run.
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
// state there is one path, which ends in a goal or in a state without a decision, or comes back to one of its states. A
// policy is asked once per state, and the answer is kept. How the run from a state ends is a property of the state; once
// it is known, it is stored for all states of the run. It does not depend on the order of the questions: the steps of a
// run into a loop are counted up to the first state that is visited twice.
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
    // The policy is never asked in goals.
    bool is_decided(StateId id) const { return decisions_[id] != UNASKED || is_goal(id); }
    // The operator, NO_ACTION, FAILED or TIMED_OUT; UNASKED if the policy was not asked.
    OperatorId decision(StateId id) const { return decisions_[id]; }
    StateId successor(StateId id) const { return successors_[id]; }  // NO_STATE if there is none
    std::uint64_t decided() const { return decided_; }

    // Stores an answer: an operator, NO_ACTION, FAILED or TIMED_OUT. An operator that does not apply is kept and ends the
    // run there. The first answer is kept: returns false if the state has another one already.
    bool decide(StateId id, OperatorId answer);

    // How the run from the state ends, as far as it is known.
    RunEnd end(StateId id);
    // The same if the run is cut after `max_steps`; open only if the policy was not asked in a state before that.
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
