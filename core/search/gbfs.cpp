#include "search/gbfs.h"

#include <stdexcept>
#include <utility>

namespace misstep {

GreedyBestFirst::GreedyBestFirst(const SuccessorGenerator &generator, Heuristic &heuristic, const int *start,
                                 Cost bound)
    : nodes_(generator), heuristic_(heuristic), bound_(bound), values_(generator.task().variable_count()) {
    const StateId root = nodes_.add_root(start);
    if (consider(root)) goal_ = root;
}

bool GreedyBestFirst::consider(StateId id) {
    const bool is_goal = nodes_.is_goal(id);
    // A state that is no goal needs at least one more operator.
    if (nodes_[id].g + (is_goal ? 0 : nodes_.task().min_cost()) >= bound_) {
        dropped_ = true;
        return false;
    }
    if (is_goal) return true;
    nodes_.values(id, values_.data());
    ++progress_.evaluations;
    const Cost h = heuristic_.evaluate(values_.data());
    if (h != INFINITE_COST) open_.push(h, 0, id);
    return false;
}

SearchResult GreedyBestFirst::finish(Status status, Limit limit) {
    progress_.bytes = bytes();
    SearchResult result = nodes_.result(status, limit, progress_, goal_);
    if (status == Status::exhausted && !dropped_) result.lower_bound = INFINITE_COST;
    return result;
}

SearchResult GreedyBestFirst::run(const Limits &limits) {
    if (expanding_) throw std::logic_error("the search was interrupted and cannot go on");
    LimitWatch watch(limits);
    const Limits timed = clock_only(limits);
    LimitWatch clock(timed);
    const Task &task = nodes_.task();
    while (goal_ == NO_STATE && (unfinished_ != NO_STATE || !open_.empty())) {
        const Limit limit = watch.check(progress_, [&] { return bytes(); });
        if (limit != Limit::none) return finish(Status::limit, limit);
        const StateId id = unfinished_ != NO_STATE ? std::exchange(unfinished_, NO_STATE) : open_.pop();
        ++progress_.expansions;
        const Cost g = nodes_[id].g;
        const auto visit = [&](StateId successor, bool is_new, OperatorId op) {
            ++progress_.generated;
            if (!is_new) return;
            nodes_[successor] = {g + task.cost(op), id, op};
            if (goal_ == NO_STATE && consider(successor)) goal_ = successor;
            const Limit late = clock.check(progress_, [&] { return bytes(); });
            if (late != Limit::none && goal_ == NO_STATE) throw InTheMiddle{late};
        };
        expanding_ = true;
        try {
            nodes_.expand(id, visit);
            expanding_ = false;
        } catch (const InTheMiddle &stop) {
            expanding_ = false;
            unfinished_ = id;
            --progress_.expansions;
            return finish(Status::limit, stop.limit);
        }
    }
    return finish(goal_ != NO_STATE ? Status::plan : Status::exhausted, Limit::none);
}

}  // namespace misstep
