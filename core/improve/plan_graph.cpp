#include "improve/plan_graph.h"

#include "base/open_list.h"

namespace misstep {

PlanGraph::PlanGraph(const SuccessorGenerator &generator) : transitions_(generator), distances_(transitions_) {
    const Task &task = generator.task();
    const bool unit = task.min_cost() == 1 && task.max_cost() == 1;
    for (Cost cost : task.costs()) adjusted_costs_.push_back(unit ? 1 : cost + 1);
    least_adjusted_cost_ = unit ? 1 : task.min_cost() + 1;
}

std::size_t PlanGraph::bytes() const {
    return transitions_.bytes() + distances_.bytes() + local_.capacity() * sizeof(Local);
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

bool PlanGraph::grow(StateId root, std::uint64_t n, Budget &budget) {
    if (++search_ == 0) {  // the counter has come round: forget all numbers
        std::fill(local_.begin(), local_.end(), Local{});
        search_ = 1;
    }
    local_.resize(std::max<std::size_t>(local_.size(), transitions_.size()));
    // Bounds the cost of the next step from below.
    const auto next_cost = [&](StateId id) { return transitions_.is_goal(id) ? 0 : least_adjusted_cost_; };
    OpenList<Ties::first_in> open;
    const auto reach = [&](StateId id, Cost g) {
        local_[id] = {g, search_};
        const Cost next = next_cost(id);
        open.push(g + next, next, id);
    };
    reach(root, 0);
    std::uint64_t walked = 0;
    while (!open.empty()) {
        if (walked >= n || !budget.allows(*this)) return false;
        const Cost f = open.lowest();
        const StateId id = open.pop();
        const Cost g = local_[id].g;
        if (f != g + next_cost(id) || transitions_.is_goal(id)) continue;
        if (!transitions_.is_expanded(id)) expand(id);
        const auto successors = transitions_.successors(id);
        walked += successors.size();
        ++budget.progress.expansions;
        budget.progress.generated += successors.size();
        for (const auto &transition : successors) __builtin_prefetch(&local_[transition.target]);
        for (const auto &transition : successors) {
            const StateId target = transition.target;
            const Cost new_g = g + adjusted_costs_[transition.op];
            if (local_[target].search != search_ || new_g < local_[target].g) reach(target, new_g);
        }
    }
    return true;
}

}  // namespace misstep
