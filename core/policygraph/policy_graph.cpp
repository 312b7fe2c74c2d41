#include "policygraph/policy_graph.h"

#include <algorithm>

namespace misstep {

const char *name(Outcome outcome) {
    switch (outcome) {
        case Outcome::open: return "open";
        case Outcome::goal: return "goal";
        case Outcome::loop: return "loop";
        case Outcome::stuck: return "stuck";
        case Outcome::inapplicable: return "inapplicable";
        case Outcome::error: return "error";
        case Outcome::cut: return "cut";
        case Outcome::timeout: return "timeout";
    }
    return "open";
}

PolicyGraph::PolicyGraph(const SuccessorGenerator &generator)
    : generator_(generator),
      registry_(generator.packer().words()),
      packed_(generator.packer().words()),
      values_(generator.task().variable_count()) {}

StateId PolicyGraph::add(const int *values) {
    generator_.packer().pack(values, packed_.data());
    const auto [id, is_new] = registry_.insert(packed_.data());
    if (is_new) {
        const bool goal = generator_.is_goal(packed_.data());
        decisions_.push_back(UNASKED);
        successors_.push_back(NO_STATE);
        last_predecessor_.push_back(NO_STATE);
        next_predecessor_.push_back(NO_STATE);
        ends_.push_back({goal ? Outcome::goal : Outcome::open, 0, 0});
        marks_.push_back(0);
        is_goal_.push_back(goal);
    }
    return id;
}

StateId PolicyGraph::find(const int *values) const {
    std::vector<std::uint64_t> packed(registry_.words());
    generator_.packer().pack(values, packed.data());
    return registry_.find(packed.data());
}

bool PolicyGraph::decide(StateId id, OperatorId answer) {
    if (is_decided(id)) return is_goal(id) || decisions_[id] == answer;
    decisions_[id] = answer;
    ++decided_;
    const Task &task = this->task();
    if (answer == NO_ACTION) {
        ends_[id].outcome = Outcome::stuck;
    } else if (answer == TIMED_OUT) {
        ends_[id].outcome = Outcome::timeout;
    } else if (answer < 0 || answer >= task.operator_count()) {
        ends_[id].outcome = Outcome::error;
    } else {
        values(id, values_.data());
        if (!task.applicable(answer, values_.data())) {
            ends_[id].outcome = Outcome::inapplicable;
        } else {
            task.apply(answer, values_.data(), values_.data());
            const StateId successor = add(values_.data());
            successors_[id] = successor;
            next_predecessor_[id] = last_predecessor_[successor];
            last_predecessor_[successor] = id;
        }
    }
    return true;
}

// All states of the path end as `entry` does, the state after the path, or in the loop that begins at `entry`, if `entry`
// is on the path.
void PolicyGraph::remember(const std::vector<StateId> &path, StateId entry) {
    RunEnd end = ends_[entry];
    std::size_t first_of_loop = path.size();
    if (end.outcome == Outcome::open) {
        first_of_loop = marks_[entry] - 1;
        end = {Outcome::loop, 0, 0};
        for (std::size_t i = first_of_loop; i < path.size(); ++i) {
            ++end.steps;
            end.cost += task().cost(decisions_[path[i]]);
        }
        // From every state of the loop, the run is known after one round.
        for (std::size_t i = first_of_loop; i < path.size(); ++i) ends_[path[i]] = end;
    }
    for (std::size_t i = first_of_loop; i-- > 0;) {
        ++end.steps;
        end.cost += task().cost(decisions_[path[i]]);
        ends_[path[i]] = end;
    }
}

RunEnd PolicyGraph::end(StateId id) {
    if (ends_[id].outcome != Outcome::open) return ends_[id];
    path_.clear();
    StateId at = id;
    while (ends_[at].outcome == Outcome::open && successors_[at] != NO_STATE && marks_[at] == 0) {
        path_.push_back(at);
        marks_[at] = static_cast<std::uint32_t>(path_.size());
        at = successors_[at];
    }
    const bool known = ends_[at].outcome != Outcome::open || marks_[at] != 0;
    if (known) remember(path_, at);
    for (StateId state : path_) marks_[state] = 0;
    return ends_[id];
}

RunEnd PolicyGraph::end(StateId id, std::uint32_t max_steps) {
    const RunEnd whole = end(id);
    // That a policy stops after exactly `max_steps` is known only if it is asked once more, which a cut run does not do.
    // The run counts as cut even if the answer is known from another run: results must not depend on what is in the graph.
    const bool asks_at_the_end = whole.outcome != Outcome::goal && whole.outcome != Outcome::loop;
    if (whole.outcome != Outcome::open && whole.steps + (asks_at_the_end ? 1 : 0) <= max_steps) return whole;
    RunEnd part;
    for (StateId at = id; successors_[at] != NO_STATE; at = successors_[at]) {
        if (part.steps == max_steps) {
            part.outcome = Outcome::cut;
            return part;
        }
        part.cost += task().cost(decisions_[at]);
        ++part.steps;
    }
    if (part.steps == max_steps) part.outcome = Outcome::cut;
    return part;
}

void PolicyGraph::predecessors(StateId id, std::vector<StateId> &result) const {
    result.clear();
    for (StateId p = last_predecessor_[id]; p != NO_STATE; p = next_predecessor_[p]) result.push_back(p);
    std::reverse(result.begin(), result.end());
}

std::size_t PolicyGraph::bytes() const {
    return registry_.bytes() + decisions_.capacity() * sizeof(OperatorId) +
           (successors_.capacity() + last_predecessor_.capacity() + next_predecessor_.capacity() + path_.capacity()) *
               sizeof(StateId) +
           ends_.capacity() * sizeof(RunEnd) + marks_.capacity() * sizeof(std::uint32_t) + is_goal_.capacity();
}

}  // namespace misstep
