#include "improve/plan_graph.h"

#include <functional>

namespace misstep {

PlanGraph::PlanGraph(const SuccessorGenerator &generator) : transitions_(generator), distances_(transitions_) {
    const Task &task = generator.task();
    const bool unit = task.min_cost() == 1 && task.max_cost() == 1;
    for (Cost cost : task.costs()) adjusted_costs_.push_back(unit ? 1 : cost + 1);
    least_adjusted_cost_ = unit ? 1 : task.min_cost() + 1;
}

std::size_t PlanGraph::bytes() const {
    return transitions_.bytes() + distances_.bytes() + local_.capacity() * sizeof(Local) +
           queue_.capacity() * sizeof(Entry);
}

void PlanGraph::expand(StateId id) {
    transitions_.expand(id);
    if (local_.size() < transitions_.size()) local_.resize(transitions_.size());
}

void PlanGraph::add_plan(StateId start, std::span<const OperatorId> plan, Budget &budget) {
    StateId state = start;
    for (OperatorId op : plan) {
        if (transitions_.is_goal(state)) return;
        if (!transitions_.is_expanded(state)) {
            if (!budget.allows(*this)) return;
            expand(state);
            ++budget.progress.expansions;
            budget.progress.generated += transitions_.successors(state).size();
        }
        const auto successors = transitions_.successors(state);
        state = std::lower_bound(successors.begin(), successors.end(), op,
                                 [](const TransitionCache::Transition &t, OperatorId o) { return t.op < o; })->target;
    }
}

// Lowest g + b first, where b bounds the cost of the next step from below (0 at goals); goals first among equals.
std::uint64_t PlanGraph::key(StateId id, Cost g) const {
    const bool is_goal = transitions_.is_goal(id);
    return 2 * static_cast<std::uint64_t>(g + (is_goal ? 0 : least_adjusted_cost_)) + !is_goal;
}

void PlanGraph::push(StateId id, Cost g) {
    local_[id] = {g, search_};
    queue_.push_back({key(id, g), pushed_++, id});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

bool PlanGraph::grow(StateId root, std::uint64_t n, Budget &budget) {
    if (++search_ == 0) {  // the counter has come round: forget all numbers
        std::fill(local_.begin(), local_.end(), Local{});
        search_ = 1;
    }
    local_.resize(std::max<std::size_t>(local_.size(), transitions_.size()));
    queue_.clear();
    pushed_ = 0;
    push(root, 0);
    std::uint64_t walked = 0;
    while (!queue_.empty()) {
        if (walked >= n || !budget.allows(*this)) return false;
        std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
        const Entry entry = queue_.back();
        queue_.pop_back();
        const Cost g = local_[entry.id].g;
        if (entry.key != key(entry.id, g) || transitions_.is_goal(entry.id)) continue;
        if (!transitions_.is_expanded(entry.id)) expand(entry.id);
        const auto successors = transitions_.successors(entry.id);
        walked += successors.size();
        ++budget.progress.expansions;
        budget.progress.generated += successors.size();
        for (const auto &[op, target] : successors) __builtin_prefetch(&local_[target]);
        for (const auto &[op, target] : successors) {
            const Cost new_g = g + adjusted_costs_[op];
            if (local_[target].search != search_ || new_g < local_[target].g) push(target, new_g);
        }
    }
    return true;
}

}  // namespace misstep
