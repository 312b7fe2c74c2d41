#include "bounds/bound_store.h"

#include <unordered_map>

#include "base/open_list.h"

namespace misstep {

BoundStore::BoundStore(const SuccessorGenerator &generator)
    : transitions_(generator),
      distances_(transitions_),
      derived_(transitions_, distances_),
      lower_bounds_(transitions_) {
    const Task &task = generator.task();
    const bool unit = task.min_cost() == 1 && task.max_cost() == 1;
    for (Cost cost : task.costs()) adjusted_costs_.push_back(unit ? 1 : cost + 1);
    least_adjusted_cost_ = unit ? 1 : task.min_cost() + 1;
}

std::size_t BoundStore::bytes() const {
    return transitions_.bytes() + distances_.bytes() + derived_.bytes() + lower_bounds_.bytes() +
           local_.capacity() * sizeof(Local) + reached_.capacity() * sizeof(StateId);
}

void BoundStore::expand(StateId id) {
    transitions_.expand(id);
    if (local_.size() < transitions_.size()) local_.resize(transitions_.size());
}

void BoundStore::expand_within(StateId id, Budget &budget) {
    if (!transitions_.is_expanded(id)) expand(id);
    ++budget.progress.expansions;
    budget.progress.generated += transitions_.successors(id).size();
}

// The search has seen everything that can be reached, so no path to a goal is missing and the distances are exact.
void BoundStore::settle_reached() {
    const GoalDistances &exact = distances();
    for (StateId id : reached_) lower_bounds_.raise(id, exact.cost(id));
}

void BoundStore::add_path(StateId start, std::span<const OperatorId> operators) {
    StateId state = start;
    for (OperatorId op : operators) {
        if (transitions_.is_goal(state)) return;
        state = transitions_.add_transition(state, op);
    }
}

std::vector<BoundStore::Leaf> BoundStore::look_ahead(StateId root, int depth, Cost bound, Budget &budget) {
    std::unordered_map<StateId, Cost> cheapest{{root, 0}};
    std::vector<StateId> layer{root}, next;
    // A cheaper path to a state of the same layer may be found later, so costs are read when the layer is complete.
    for (int d = 0; d < depth; ++d, layer.swap(next)) {
        next.clear();
        std::unordered_map<StateId, Cost> costs;
        for (StateId id : layer) {
            if (transitions_.is_goal(id)) continue;
            if (!budget.allows(*this)) {  // a state that a limit keeps from being expanded is a leaf
                if (costs.try_emplace(id, cheapest[id]).second) next.push_back(id);
                costs[id] = std::min(costs[id], cheapest[id]);
                continue;
            }
            expand_within(id, budget);
            for (const auto &transition : transitions_.successors(id)) {
                const Cost cost = cheapest[id] + transitions_.task().cost(transition.op);
                if (cost >= bound) continue;
                if (const auto known = cheapest.find(transition.target);
                    known != cheapest.end() && known->second <= cost)
                    continue;
                const auto [entry, is_new] = costs.try_emplace(transition.target, cost);
                if (is_new) next.push_back(transition.target);
                entry->second = std::min(entry->second, cost);
            }
        }
        for (StateId id : next) cheapest[id] = costs[id];
    }
    std::vector<Leaf> leaves;
    for (StateId id : layer)
        if (!transitions_.is_goal(id)) leaves.push_back({id, cheapest[id]});
    return leaves;
}

void BoundStore::add_plan(StateId start, std::span<const OperatorId> plan, Budget &budget) {
    StateId state = start;
    for (OperatorId op : plan) {
        if (transitions_.is_goal(state)) return;
        if (!transitions_.is_expanded(state)) {
            if (!budget.allows(*this)) return;
            expand_within(state, budget);
        }
        state = transitions_.add_transition(state, op);
    }
}

bool BoundStore::grow(StateId root, std::uint64_t n, Budget &budget) {
    if (++search_ == 0) {  // the counter has overflowed, so all old numbers are cleared
        std::fill(local_.begin(), local_.end(), Local{});
        search_ = 1;
    }
    local_.resize(std::max<std::size_t>(local_.size(), transitions_.size()));
    // Bounds the cost of the next step from below.
    const auto next_cost = [&](StateId id) { return transitions_.is_goal(id) ? 0 : least_adjusted_cost_; };
    OpenList<Ties::first_in> open;
    reached_.clear();
    const auto reach = [&](StateId id, Cost g) {
        local_[id] = {g, search_};
        reached_.push_back(id);
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
        expand_within(id, budget);
        const auto successors = transitions_.successors(id);
        walked += successors.size();
        for (const auto &transition : successors) __builtin_prefetch(&local_[transition.target]);
        for (const auto &transition : successors) {
            const StateId target = transition.target;
            const Cost new_g = g + adjusted_costs_[transition.op];
            if (local_[target].search != search_ || new_g < local_[target].g) reach(target, new_g);
        }
    }
    settle_reached();
    return true;
}

}  // namespace misstep
