#include "policygraph/permitted_graph.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "base/interrupt.h"

namespace misstep {

namespace {
constexpr std::uint32_t FAR = std::numeric_limits<std::uint32_t>::max();
}

PermittedGraph::PermittedGraph(const SuccessorGenerator &generator, std::uint32_t limit, bool dearest)
    : generator_(generator),
      limit_(limit),
      dearest_(dearest),
      registry_(generator.packer().words()),
      packed_(generator.packer().words()),
      values_(generator.task().variable_count()),
      successor_(generator.task().variable_count()) {}

StateId PermittedGraph::add(const int *values) {
    generator_.packer().pack(values, packed_.data());
    const auto [id, is_new] = registry_.insert(packed_.data());
    if (is_new) {
        State state;
        if (generator_.is_goal(packed_.data())) {
            state.answer = Answer::goal;
            state.closed = true;
            state.choice = NO_ACTION;
            state.most = 0;
        }
        states_.push_back(state);
        extreme_.push_back(0);
        marks_.push_back(0);
        places_.push_back(0);
        pending_marks_.push_back(0);
    }
    return id;
}

void PermittedGraph::permit(StateId id, std::span<const OperatorId> operators) {
    if (is_asked(id)) return;
    const std::size_t first = operators_.size();
    bool stops = operators.empty();
    values(id, values_.data());
    for (OperatorId op : operators) {
        StateId successor = NO_STATE;
        if (task().applicable(op, values_.data())) {
            task().apply(op, values_.data(), successor_.data());
            successor = add(successor_.data());
        } else {
            stops = true;
        }
        operators_.push_back(op);
        successors_.push_back(successor);
    }
    State &state = states_[id];
    state.first = first;
    state.count = static_cast<std::uint32_t>(operators.size());
    state.answer = Answer::set;
    state.stops = stops;
}

void PermittedGraph::fail(StateId id, bool timed_out) {
    if (!is_asked(id)) states_[id].answer = timed_out ? Answer::timed_out : Answer::failed;
}

const std::vector<StateId> &PermittedGraph::explore(std::span<const StateId> ids) {
    pending_.clear();
    ++pending_epoch_;
    for (StateId id : ids) {
        if (states_[id].choice != UNKNOWN || !look_around(id)) continue;
        if (ball_.closed) {
            choose_closed();
        } else {
            states_[id].choice = choose_open(id);
        }
    }
    return pending_;
}

bool PermittedGraph::look_around(StateId start) {
    ball_.states = {start};
    ball_.first = {UNKNOWN};
    ball_.back = UNKNOWN;
    ball_.closed = false;
    ++epoch_;
    marks_[start] = epoch_;
    places_[start] = 0;
    std::size_t begin = 0;
    bool late = false;
    while (true) {
        const std::size_t end = ball_.states.size();
        bool asked = true;
        for (std::size_t i = begin; i < end; ++i) {
            const StateId id = ball_.states[i];
            late = late || states_[id].answer == Answer::timed_out;
            if (is_asked(id)) continue;
            asked = false;
            if (pending_marks_[id] != pending_epoch_) {
                pending_marks_[id] = pending_epoch_;
                pending_.push_back(id);
            }
        }
        if (!asked) return false;
        for (std::size_t i = begin; i < end; ++i) {
            let_interrupt(HEAVY);
            const StateId id = ball_.states[i];
            const auto own = operators(id);
            const auto next = successors(id);
            for (std::size_t k = 0; k < own.size(); ++k) {
                if (next[k] == NO_STATE) continue;
                const OperatorId first = i == 0 ? own[k] : ball_.first[i];
                if (next[k] == start && ball_.back == UNKNOWN) ball_.back = first;
                if (marks_[next[k]] == epoch_) continue;
                marks_[next[k]] = epoch_;
                places_[next[k]] = static_cast<std::uint32_t>(ball_.states.size());
                ball_.states.push_back(next[k]);
                ball_.first.push_back(first);
            }
        }
        if (ball_.states.size() == end) {
            ball_.closed = !late;
            return true;
        }
        if (late || ball_.states.size() > limit_) {  // a level that exceeds the limit is left out as a whole
            ball_.states.resize(end);
            ball_.first.resize(end);
            return true;
        }
        begin = end;
    }
}

// The answer by which the policy fails in a state that `stops`: an operator that does not apply, or none.
OperatorId PermittedGraph::own_stop(StateId id) const {
    const auto own = operators(id);
    const auto next = successors(id);
    for (std::size_t k = 0; k < own.size(); ++k)
        if (next[k] == NO_STATE) return own[k];
    return NO_ACTION;
}

OperatorId PermittedGraph::choose_open(StateId start) const {
    if (states_[start].stops) return own_stop(start);
    if (states_[start].answer == Answer::failed) return FAILED;
    if (states_[start].answer == Answer::timed_out) return TIMED_OUT;
    OperatorId crash = UNKNOWN, late = UNKNOWN;
    for (std::size_t i = 1; i < ball_.states.size(); ++i) {
        const State &state = states_[ball_.states[i]];
        if (state.stops) return ball_.first[i];
        if (crash == UNKNOWN && state.answer == Answer::failed) crash = ball_.first[i];
        if (late == UNKNOWN && state.answer == Answer::timed_out) late = ball_.first[i];
    }
    for (OperatorId found : {crash, late, ball_.back})
        if (found != UNKNOWN) return found;
    return operators(start).front();
}

// Tarjan's algorithm on the ball, which is closed.
void PermittedGraph::find_components() {
    const std::size_t n = ball_.states.size();
    components_.assign(n, FAR);
    cyclic_.clear();
    order_.clear();
    std::vector<std::uint32_t> number(n, FAR), low(n), stack;
    struct Frame {
        std::uint32_t place;
        std::uint32_t edge;
    };
    std::vector<Frame> frames;
    std::uint32_t counter = 0;
    for (std::uint32_t root = 0; root < n; ++root) {
        if (number[root] != FAR) continue;
        frames.push_back({root, 0});
        number[root] = low[root] = counter++;
        stack.push_back(root);
        while (!frames.empty()) {
            const std::uint32_t at = frames.back().place;
            const auto next = successors(ball_.states[at]);
            if (frames.back().edge < next.size()) {
                const StateId successor = next[frames.back().edge++];
                if (successor == NO_STATE) continue;
                const std::uint32_t to = places_[successor];
                if (number[to] == FAR) {
                    number[to] = low[to] = counter++;
                    stack.push_back(to);
                    frames.push_back({to, 0});
                } else if (components_[to] == FAR) {
                    low[at] = std::min(low[at], number[to]);
                }
                continue;
            }
            frames.pop_back();
            if (!frames.empty()) low[frames.back().place] = std::min(low[frames.back().place], low[at]);
            if (low[at] != number[at]) continue;
            const auto component = static_cast<std::uint32_t>(cyclic_.size());
            std::size_t members = 0;
            std::uint32_t member = FAR;
            do {
                member = stack.back();
                stack.pop_back();
                components_[member] = component;
                order_.push_back(member);
                ++members;
            } while (member != at);
            bool cycle = members > 1;
            for (StateId successor : successors(ball_.states[at])) cycle = cycle || successor == ball_.states[at];
            cyclic_.push_back(cycle);
        }
    }
}

// For each state of the ball, the least number of steps to one of `ends`.
std::vector<std::uint32_t> PermittedGraph::steps_to(const std::vector<std::uint32_t> &ends) const {
    const std::size_t n = ball_.states.size();
    std::vector<std::uint32_t> steps(n, FAR);
    if (ends.empty()) return steps;
    std::vector<std::uint32_t> offsets(n + 1, 0);
    for (StateId id : ball_.states)
        for (StateId successor : successors(id))
            if (successor != NO_STATE) ++offsets[places_[successor] + 1];
    for (std::size_t i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
    std::vector<std::uint32_t> before(offsets[n]), fill(offsets.begin(), offsets.end() - 1);
    for (std::uint32_t i = 0; i < n; ++i)
        for (StateId successor : successors(ball_.states[i]))
            if (successor != NO_STATE) before[fill[places_[successor]]++] = i;
    std::vector<std::uint32_t> queue = ends;
    for (std::uint32_t end : ends) steps[end] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
        for (std::uint32_t k = offsets[queue[i]]; k < offsets[queue[i] + 1]; ++k)
            if (steps[before[k]] == FAR) {
                steps[before[k]] = steps[queue[i]] + 1;
                queue.push_back(before[k]);
            }
    return steps;
}

OperatorId PermittedGraph::step_towards(StateId id, const std::vector<std::uint32_t> &steps) const {
    const auto own = operators(id);
    const auto next = successors(id);
    for (std::size_t k = 0; k < own.size(); ++k)
        if (next[k] != NO_STATE && steps[places_[next[k]]] + 1 == steps[places_[id]]) return own[k];
    return UNKNOWN;
}

// Requires that all permitted runs from the state reach the goal, and that the costs of the successors are known.
void PermittedGraph::choose_by_cost(StateId id) {
    State &state = states_[id];
    const auto own = operators(id);
    const auto next = successors(id);
    Cost most = 0, chosen = 0;
    for (std::size_t k = 0; k < own.size(); ++k) {
        const Cost cost = task().cost(own[k]);
        const Cost by_this = cost + extreme_[next[k]];
        if (k == 0 || (dearest_ ? by_this > chosen : by_this < chosen)) {
            chosen = by_this;
            state.choice = own[k];
        }
        most = std::max(most, cost + states_[next[k]].most);
    }
    extreme_[id] = chosen;
    state.most = most;
}

void PermittedGraph::choose_closed() {
    find_components();
    std::vector<std::uint32_t> failures, crashes;
    for (std::uint32_t i = 0; i < ball_.states.size(); ++i) {
        const State &state = states_[ball_.states[i]];
        if (state.stops || cyclic_[components_[i]]) failures.push_back(i);
        if (state.answer == Answer::failed) crashes.push_back(i);
    }
    const std::vector<std::uint32_t> to_failure = steps_to(failures), to_crash = steps_to(crashes);
    for (std::uint32_t place : order_) {
        const StateId id = ball_.states[place];
        State &state = states_[id];
        if (state.choice != UNKNOWN) continue;
        state.closed = true;
        if (state.stops) {
            state.choice = own_stop(id);
        } else if (state.answer == Answer::failed) {
            state.choice = FAILED;
        } else if (cyclic_[components_[place]]) {
            const auto next = successors(id);
            for (std::size_t k = 0; k < next.size() && state.choice == UNKNOWN; ++k)
                if (components_[places_[next[k]]] == components_[place]) state.choice = operators(id)[k];
        } else if (to_failure[place] != FAR) {
            state.choice = step_towards(id, to_failure);
        } else if (to_crash[place] != FAR) {
            state.choice = step_towards(id, to_crash);
        } else {
            choose_by_cost(id);
        }
    }
}

// Dijkstra's algorithm within the ball of the start: the least cost of a path to a goal, to a state without an answer, or out
// of the ball.
Cost PermittedGraph::search(StateId start, std::vector<StateId> &settled) {
    look_around(start);
    std::vector<Cost> best(ball_.states.size(), INFINITE_COST);
    std::vector<char> done(ball_.states.size(), 0);
    using Entry = std::pair<Cost, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    Cost bound = INFINITE_COST;  // of leaving the ball
    best[0] = 0;
    open.push({0, 0});
    while (!open.empty()) {
        const auto [cost, place] = open.top();
        open.pop();
        if (done[place]) continue;
        if (cost >= bound) return bound;
        const StateId id = ball_.states[place];
        if (!is_set(id)) return cost;  // a goal, or a state where the policy crashed or gave no answer in time
        done[place] = 1;
        settled.push_back(id);
        const auto next = successors(id);
        for (std::size_t k = 0; k < next.size(); ++k) {
            if (next[k] == NO_STATE) continue;
            const Cost there = cost + task().cost(operators(id)[k]);
            if (!in_ball(next[k])) {
                bound = std::min(bound, there);
            } else if (there < best[places_[next[k]]]) {
                best[places_[next[k]]] = there;
                open.push({there, places_[next[k]]});
            }
        }
    }
    return bound;
}

PermittedGraph::Facts PermittedGraph::facts(StateId id) {
    std::vector<StateId> settled;
    const Cost least = search(id, settled);
    return {states_[id].closed, least, states_[id].closed ? states_[id].most : INFINITE_COST};
}

std::vector<StateId> PermittedGraph::region(StateId id) {
    std::vector<StateId> result;
    if (!states_[id].closed) {
        search(id, result);
        return result;
    }
    look_around(id);
    for (StateId other : ball_.states)
        if (is_set(other)) result.push_back(other);
    return result;
}

}  // namespace misstep
