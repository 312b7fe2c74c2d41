#include "search/astar.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace misstep {

AStar::AStar(const SuccessorGenerator &generator, Heuristic *heuristic, const int *start, Cost bound, const int *target)
    : nodes_(generator),
      heuristic_(heuristic),
      blind_estimate_(generator.task().min_cost()),
      bound_(bound),
      values_(generator.task().variable_count()) {
    if (target != nullptr) {
        target_.resize(generator.packer().words());
        generator.packer().pack(target, target_.data());
    }
    const StateId root = nodes_.add_root(start);
    closed_.push_back(0);
    consider(root, estimate(root));
}

// Evaluates a state that has no estimate yet.
Cost AStar::estimate(StateId id) {
    ++progress_.evaluations;
    if (heuristic_ == nullptr) return is_goal(id) ? 0 : blind_estimate_;
    nodes_.values(id, values_.data());
    h_.push_back(heuristic_->evaluate(values_.data()));
    return h_.back();
}

void AStar::consider(StateId id, Cost h) {
    if (h == INFINITE_COST) return;
    const Cost f = nodes_[id].g + h;
    if (f < bound_) open_.push(f, h, id);
}

std::size_t AStar::bytes() const {
    return nodes_.bytes() + open_.bytes() + closed_.capacity() + h_.capacity() * sizeof(Cost);
}

SearchResult AStar::finish(Status status, Limit limit) {
    progress_.bytes = bytes();
    SearchResult result = nodes_.result(status, limit, progress_, goal_);
    if (status == Status::plan) {
        result.lower_bound = result.cost;
    } else {
        // Every plan passes through an open state, so the lowest f bounds all plans from below.
        result.lower_bound = open_.empty() ? bound_ : std::min(bound_, open_.lowest());
        if (unfinished_ != NO_STATE) {
            const Cost h = heuristic_ != nullptr ? h_[unfinished_] : blind_estimate_;
            result.lower_bound = std::min(result.lower_bound, nodes_[unfinished_].g + h);
        }
    }
    return result;
}

SearchResult AStar::run(const Limits &limits) {
    if (expanding_) throw std::logic_error("the search was interrupted and cannot go on");
    LimitWatch watch(limits);
    const Limits timed = clock_only(limits);
    LimitWatch clock(timed);
    const Task &task = nodes_.task();
    while (goal_ == NO_STATE && (unfinished_ != NO_STATE || !open_.empty())) {
        const Limit limit = watch.check(progress_, [&] { return bytes(); });
        if (limit != Limit::none) return finish(Status::limit, limit);
        const StateId id = unfinished_ != NO_STATE ? std::exchange(unfinished_, NO_STATE) : open_.pop();
        if (closed_[id]) continue;
        if (is_goal(id)) {
            goal_ = id;
            break;
        }
        closed_[id] = 1;
        ++progress_.expansions;
        const Cost g = nodes_[id].g;
        // Limits are also checked between successors: thousands of them, each with an expensive estimate, may take minutes.
        const auto visit = [&](StateId successor, bool is_new, OperatorId op) {
            ++progress_.generated;
            Node &node = nodes_[successor];
            const Cost new_g = g + task.cost(op);
            if (is_new) {
                node = {new_g, id, op};
                closed_.push_back(0);
                consider(successor, estimate(successor));
            } else if (new_g < node.g) {
                node = {new_g, id, op};
                closed_[successor] = 0;
                consider(successor, heuristic_ != nullptr ? h_[successor] : is_goal(successor) ? 0 : blind_estimate_);
            }
            const Limit late = clock.check(progress_, [&] { return bytes(); });
            if (late != Limit::none) throw InTheMiddle{late};
        };
        expanding_ = true;
        try {
            nodes_.expand(id, visit);
            expanding_ = false;
        } catch (const InTheMiddle &stop) {
            expanding_ = false;
            closed_[id] = 0;
            --progress_.expansions;
            unfinished_ = id;
            return finish(Status::limit, stop.limit);
        }
    }
    return finish(goal_ != NO_STATE ? Status::plan : Status::exhausted, Limit::none);
}

}  // namespace misstep
