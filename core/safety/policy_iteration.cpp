#include "safety/policy_iteration.h"

#include <algorithm>

namespace misstep::safety {

std::uint32_t PolicyIteration::intern(StateId id, Radius budget) {
    const std::uint64_t key = static_cast<std::uint64_t>(budget) << 32 | id;
    const auto [entry, is_new] = ids_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({id, budget, 0});
    return entry->second;
}

void PolicyIteration::push(std::uint32_t node, Meter &meter) {
    meter.tick();
    const StateId state = nodes_[node].state;
    const Actions actions = system_.actions(state);
    const Ranking ranking = system_.ranking(state, nodes_[node].budget != UNBOUNDED);
    frames_.push_back({node, actions, ranking, 0, false});
    seen_.insert(node);
    order_.push_back(node);
}

PolicyIteration::Outcome PolicyIteration::advance(Frame &frame, std::uint32_t &child, bool &moved) {
    const auto [state, budget, first] = nodes_[frame.node];
    for (std::uint32_t rank = first; rank < frame.actions.count(); nodes_[frame.node].rank = ++rank, frame.next = 0) {
        const std::uint32_t action = frame.ranking[rank];
        const std::int32_t left = this->left(state, budget, frame.actions.label(action));
        if (left == NO_BUDGET) continue;
        if (frame.next == 0) frame.tentative = false;
        const auto rest = static_cast<Radius>(left);
        const std::span<const StateId> outcomes = frame.actions.outcomes(action);
        const bool lost = std::any_of(outcomes.begin(), outcomes.end(),
                                      [&](StateId outcome) { return quick(outcome, rest) == Answer::not_safe; });
        if (lost) {
            moved = true;
            continue;
        }
        while (frame.next < outcomes.size()) {
            const StateId outcome = outcomes[frame.next++];
            if (quick(outcome, rest) == Answer::safe || !is_open(outcome)) continue;
            child = intern(outcome, rest);
            if (!seen_.contains(child)) return Outcome::child;
            frame.tentative = true;
        }
        return frame.tentative ? Outcome::tentative : Outcome::safe;
    }
    return Outcome::failed;
}

PolicyIteration::Outcome PolicyIteration::pass(std::uint32_t root, bool &moved, Meter &meter) {
    seen_.clear();
    order_.clear();
    frames_.clear();
    push(root, meter);
    while (true) {
        std::uint32_t child = 0;
        const Outcome outcome = advance(frames_.back(), child, moved);
        if (outcome == Outcome::child) {
            push(child, meter);
            continue;
        }
        const auto [state, budget, rank] = nodes_[frames_.back().node];
        const Ranking ranking = frames_.back().ranking;
        if (outcome == Outcome::failed) refuse(state, budget);
        else if (outcome == Outcome::safe) commit(state, budget, ranking[rank]);
        frames_.pop_back();
        if (frames_.empty()) return outcome;
        // A failed outcome is noticed when the parent looks at all outcomes of its label again.
        if (outcome == Outcome::tentative) frames_.back().tentative = true;
    }
}

void PolicyIteration::solve(StateId id, Radius radius, Meter &meter) {
    if (!is_open(id)) return;
    const std::uint32_t root = intern(id, radius);
    while (true) {
        bool moved = false;
        if (pass(root, moved, meter) != Outcome::tentative) return;
        if (moved) continue;
        for (std::uint32_t node : order_) {
            const auto [state, budget, rank] = nodes_[node];
            commit(state, budget, system_.ranking(state, budget != UNBOUNDED)[rank]);
        }
        return;
    }
}

void PolicyIteration::forget_policy() {
    BudgetDecider::forget_policy();
    // Labels are tried in another order now.
    nodes_.clear();
    ids_.clear();
}

std::size_t PolicyIteration::bytes() const {
    return BudgetDecider::bytes() + nodes_.capacity() * sizeof(Node) + ids_.size() * 48 +
           frames_.capacity() * sizeof(Frame) + seen_.bytes() + order_.capacity() * sizeof(std::uint32_t);
}

}  // namespace misstep::safety
