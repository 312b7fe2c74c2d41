#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/registry.h"
#include "fdr/successors.h"

namespace misstep {

using TransitionId = std::uint32_t;
inline constexpr TransitionId NO_TRANSITION = std::numeric_limits<TransitionId>::max();

// States and the transitions between them that were generated so far. No state is expanded twice.
//
// All successors of an expanded state are generated at once, so they lie side by side in one array, sorted by operator.
// The incoming transitions of a state, which are only needed when a bound improves, are a linked list through the same
// array: it can grow one transition at a time, which the transposed array of a finished graph cannot.
//
// A path, such as a run of a policy, may be added without expanding its states: otherwise thousands of states on long
// runs would add all their successors. These single transitions lie in the same array.
class TransitionCache {
   public:
    struct Transition {
        OperatorId op;
        StateId target;
        StateId source;
        TransitionId next_incoming;  // the previous transition to the same target
    };

    explicit TransitionCache(const SuccessorGenerator &generator);

    StateId add(const int *values);
    StateId find(const int *values) const;  // NO_STATE if it is not known
    void values(StateId id, int *result) const { generator_.packer().unpack(registry_[id], result); }

    StateId size() const { return registry_.size(); }
    TransitionId transition_count() const { return static_cast<TransitionId>(transitions_.size()); }
    const SuccessorGenerator &generator() const { return generator_; }
    const Task &task() const { return generator_.task(); }

    bool is_goal(StateId id) const { return nodes_[id].is_goal; }
    bool is_expanded(StateId id) const { return nodes_[id].first != NO_TRANSITION; }
    // States that are neither goals nor expanded.
    StateId open_count() const { return open_count_; }

    // Generates the successors of a state that is not expanded.
    void expand(StateId id);
    std::span<const Transition> successors(StateId id) const {
        return {transitions_.data() + nodes_[id].first, nodes_[id].count};
    }

    // Adds one transition; the operator must be applicable. Returns its target.
    StateId add_transition(StateId source, OperatorId op);
    // Calls visit(transition) for all known transitions from the state.
    template <class Visit>
    void for_each_outgoing(StateId id, Visit &&visit) const {
        if (is_expanded(id)) {
            for (const Transition &transition : successors(id)) visit(transition);
        } else if (const auto found = single_.find(id); found != single_.end()) {
            for (TransitionId t : found->second) visit(transitions_[t]);
        }
    }

    const Transition &transition(TransitionId id) const { return transitions_[id]; }
    TransitionId last_incoming(StateId id) const { return nodes_[id].last_incoming; }

    std::size_t bytes() const;

   private:
    struct Node {
        TransitionId first = NO_TRANSITION;
        std::uint32_t count = 0;
        TransitionId last_incoming = NO_TRANSITION;
        bool is_goal = false;
    };
    StateId intern(const std::uint64_t *state, std::uint64_t hash);
    StateId append(StateId source, OperatorId op, const std::uint64_t *successor, std::uint64_t hash);

    const SuccessorGenerator &generator_;
    StateRegistry registry_;
    std::vector<Node> nodes_;
    std::vector<Transition> transitions_;
    std::unordered_map<StateId, std::vector<TransitionId>> single_;  // of states that are not expanded
    StateId open_count_ = 0;

    std::vector<OperatorId> operators_;
    std::vector<std::uint64_t> packed_;
    std::vector<std::uint64_t> hashes_;
};

}  // namespace misstep
