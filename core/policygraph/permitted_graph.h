#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/registry.h"
#include "fdr/successors.h"
#include "policygraph/policy.h"

namespace misstep {

// What a set-valued policy permits, state by state, and the chooser that takes the worst permitted run.
//
// The permitted runs from a state s form a graph. The ball of s consists of its first levels, as many as have at most
// `limit` states together, and none behind a level in which an answer did not come in time. The policy is asked only in
// states of the ball. If no transition leads out of the ball and all answers came in time, s is closed, and everything about
// its runs is known. The ball depends on s alone, so all results for s are a function of s, whatever else was asked before.
//
// The chooser picks one permitted operator in each state. Where s is closed:
//   - a state that permits nothing, or an operator that does not apply, is a failure, and so is a state on a cycle;
//     there the chooser stops, names that operator, or stays in its strongly connected component;
//   - where failures can be reached it goes to the nearest one, else to the nearest state where the policy crashes;
//   - elsewhere all permitted runs reach the goal and never come back to a state, and it takes a cheapest one
//     (a most expensive one if `dearest`).
// Where s is not closed it goes to the nearest stop in the ball, else to the nearest crash, else to the nearest state
// without an answer in time, else along the shortest cycle through s, else it takes the lowest operator. A stop that is
// chosen stays within the balls until it is reached, because the ball of a successor of s has at most one level less than
// the ball of s. Ties are broken in favour of the lowest operator.
class PermittedGraph {
   public:
    PermittedGraph(const SuccessorGenerator &generator, std::uint32_t limit, bool dearest);

    const Task &task() const { return generator_.task(); }
    StateId size() const { return registry_.size(); }
    StateId add(const int *values);
    void values(StateId id, int *result) const { generator_.packer().unpack(registry_[id], result); }
    bool is_goal(StateId id) const { return states_[id].answer == Answer::goal; }
    bool is_asked(StateId id) const { return states_[id].answer != Answer::unasked; }
    bool is_set(StateId id) const { return states_[id].answer == Answer::set; }

    // Stores the permitted operators of a state, in increasing order. The first answer is kept; later ones are ignored.
    void permit(StateId id, std::span<const OperatorId> operators);
    // Stores that the policy crashed in a state, or gave no answer in time.
    void fail(StateId id, bool timed_out);

    // The states in which the policy has to be asked before the chooser knows what to do in `ids`. Empty: it knows.
    const std::vector<StateId> &explore(std::span<const StateId> ids);
    // What the chooser does: an operator, NO_ACTION, FAILED or TIMED_OUT. This and the functions below need `explore` first.
    OperatorId choice(StateId id) const { return states_[id].choice; }

    struct Facts {
        bool closed;
        Cost least;  // no permitted run is cheaper; INFINITE_COST, where closed: none reaches the goal
        Cost most;   // where closed and all permitted runs reach the goal: the highest cost; else INFINITE_COST
    };
    Facts facts(StateId id);
    // The states whose permitted operators prove these facts, without goals and crashes.
    std::vector<StateId> region(StateId id);

    std::span<const OperatorId> operators(StateId id) const {
        return {operators_.data() + states_[id].first, states_[id].count};
    }
    // NO_STATE where an operator does not apply.
    std::span<const StateId> successors(StateId id) const {
        return {successors_.data() + states_[id].first, states_[id].count};
    }

   private:
    enum class Answer : std::uint8_t { unasked, goal, set, failed, timed_out };
    static constexpr OperatorId UNKNOWN = -3;
    struct State {
        std::size_t first = 0;  // its operators
        std::uint32_t count = 0;
        Answer answer = Answer::unasked;
        bool stops = false;  // permits nothing, or an operator that does not apply
        bool closed = false;  // only valid when the choice is known
        OperatorId choice = UNKNOWN;
        Cost most = INFINITE_COST;
    };
    struct Ball {
        std::vector<StateId> states;  // level by level
        std::vector<OperatorId> first;  // the first step on the way there
        OperatorId back = UNKNOWN;  // the first step of the shortest cycle through the start
        bool closed = false;
    };

    bool look_around(StateId start);  // fills `ball_`; false if the policy has to be asked first
    bool in_ball(StateId id) const { return marks_[id] == epoch_ && places_[id] < ball_.states.size(); }
    OperatorId choose_open(StateId start) const;
    void choose_closed();
    void find_components();
    std::vector<std::uint32_t> steps_to(const std::vector<std::uint32_t> &ends) const;
    OperatorId step_towards(StateId id, const std::vector<std::uint32_t> &steps) const;
    void choose_by_cost(StateId id);
    OperatorId own_stop(StateId id) const;
    Cost search(StateId start, std::vector<StateId> &settled);

    const SuccessorGenerator &generator_;
    std::uint32_t limit_;
    bool dearest_;
    StateRegistry registry_;
    std::vector<State> states_;
    std::vector<OperatorId> operators_;
    std::vector<StateId> successors_;
    std::vector<Cost> extreme_;  // of closed states whose runs all reach the goal: the cost of the chooser's run

    Ball ball_;
    std::uint32_t epoch_ = 0;
    std::vector<std::uint32_t> marks_;  // the epoch in which a state was last seen
    std::vector<std::uint32_t> places_;  // and its place in the ball
    std::vector<std::uint32_t> components_;  // of the states of the ball, successors first
    std::vector<char> cyclic_;  // whether a component has a cycle
    std::vector<std::uint32_t> order_;  // places, successors first
    std::vector<StateId> pending_;
    std::vector<std::uint32_t> pending_marks_;
    std::uint32_t pending_epoch_ = 0;
    std::vector<std::uint64_t> packed_;
    std::vector<int> values_, successor_;
};

}  // namespace misstep
