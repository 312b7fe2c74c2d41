#include "fuzzing/walks.h"

#include <utility>

namespace misstep {

Walks::Walks(PolicyGraph &graph, DeadEnds &dead_ends, Rules rules)
    : graph_(graph),
      dead_ends_(dead_ends),
      rules_(rules),
      values_(graph.task().variable_count()),
      other_(graph.task().variable_count()) {}

bool Walks::examine(StateId state) {
    if (graph_.is_goal(state)) return !rules_.skip_goals;
    graph_.values(state, other_.data());
    if (rules_.skip_stuck) {
        graph_.generator().applicable(other_.data(), scratch_);
        if (scratch_.empty()) return false;
    }
    return !dead_ends_.is_dead(other_.data());
}

bool Walks::survives(StateId state) {
    if (state >= verdicts_.size()) verdicts_.resize(graph_.size(), 0);
    if (verdicts_[state] == 0) verdicts_[state] = examine(state) ? 1 : 2;
    return verdicts_[state] == 1;
}

void Walks::enter(StateId state) {
    graph_.values(state, values_.data());
    graph_.generator().applicable(values_.data(), operators_);
}

StateId Walks::successor(OperatorId op) {
    graph_.task().apply(op, values_.data(), other_.data());
    return graph_.add(other_.data());
}

const std::vector<Walks::Successor> &Walks::successors(StateId state) {
    enter(state);
    successors_.clear();
    for (OperatorId op : operators_) {
        const StateId next = successor(op);
        if (survives(next)) successors_.push_back({op, next});
    }
    return successors_;
}

const std::vector<Walks::Successor> &Walks::successors(StateId state, CounterRandom &random) {
    successors(state);
    for (std::size_t i = successors_.size(); i > 1; --i) std::swap(successors_[i - 1], successors_[random.below(i)]);
    return successors_;
}

StateId Walks::uniform_walk(StateId from, std::uint32_t length, CounterRandom &random, std::vector<OperatorId> &walk) {
    walk.clear();
    StateId at = from;
    while (walk.size() < length) {
        enter(at);
        StateId next = NO_STATE;
        for (std::size_t left = operators_.size(); left > 0 && next == NO_STATE; --left) {
            std::swap(operators_[left - 1], operators_[random.below(left)]);
            const StateId tried = successor(operators_[left - 1]);
            if (!survives(tried)) continue;
            next = tried;
            walk.push_back(operators_[left - 1]);
        }
        if (next == NO_STATE) break;
        at = next;
    }
    return at;
}

}  // namespace misstep
