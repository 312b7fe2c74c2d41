#include "search/ehc.h"

namespace misstep {

EnforcedHillClimbing::EnforcedHillClimbing(const SuccessorGenerator &generator, Heuristic &heuristic, const int *start,
                                           EhcOptions options, Cost bound)
    : nodes_(generator),
      heuristic_(heuristic),
      options_(options),
      bound_(bound),
      current_(start, start + generator.task().variable_count()),
      values_(current_) {}

EnforcedHillClimbing::Phase EnforcedHillClimbing::search_phase(bool helpful, LimitWatch &watch, LimitWatch &clock) {
    const Task &task = nodes_.task();
    nodes_.clear();
    open_ = {};
    helpful_.clear();
    helpful_offsets_.assign(1, 0);
    const auto remember_helpful = [&] {
        if (!helpful) return;
        const auto operators = heuristic_.helpful();
        helpful_.insert(helpful_.end(), operators.begin(), operators.end());
        helpful_offsets_.push_back(helpful_.size());
    };

    const StateId root = nodes_.add_root(current_.data());
    if (helpful) {  // the heuristic has seen other states since it evaluated this one
        heuristic_.evaluate(current_.data());
        ++progress_.evaluations;
    }
    remember_helpful();
    open_.push(0, 0, root);
    StateId found = NO_STATE;
    Cost found_h = INFINITE_COST;
    while (found == NO_STATE && !open_.empty()) {
        limit_ = watch.check(progress_, [&] { return bytes(); });
        if (limit_ != Limit::none) return Phase::stopped;
        const Cost distance = open_.lowest();
        const StateId id = open_.pop();
        ++progress_.expansions;
        const Cost g = nodes_[id].g;
        const auto visit = [&](StateId successor, bool is_new, OperatorId op) {
            ++progress_.generated;
            if (!is_new) return;
            nodes_[successor] = {g + task.cost(op), id, op};
            if (found != NO_STATE) return;
            const bool is_goal = nodes_.is_goal(successor);
            if (cost_ + nodes_[successor].g + (is_goal ? 0 : task.min_cost()) >= bound_) {
                dropped_ = true;
                if (helpful) helpful_offsets_.push_back(helpful_.size());
                return;
            }
            nodes_.values(successor, values_.data());
            const Cost h = is_goal ? 0 : heuristic_.evaluate(values_.data());
            if (!is_goal) ++progress_.evaluations;
            if (is_goal || h < current_h_) {
                found = successor;
                found_h = h;
                at_goal_ = is_goal;
                return;
            }
            remember_helpful();
            if (h != INFINITE_COST) open_.push(distance + (options_.by_cost ? task.cost(op) : 1), 0, successor);
            const Limit late = clock.check(progress_, [&] { return bytes(); });
            if (late != Limit::none) throw InTheMiddle{late};
        };
        try {
            if (helpful) {
                // A copy: the visit appends to the array.
                const std::vector<OperatorId> operators(helpful_.begin() + helpful_offsets_[id],
                                                        helpful_.begin() + helpful_offsets_[id + 1]);
                nodes_.expand(id, operators, visit);
            } else {
                nodes_.expand(id, visit);
            }
        } catch (const InTheMiddle &stop) {  // the phase begins again when the search goes on
            limit_ = stop.limit;
            return Phase::stopped;
        }
    }
    registered_ += nodes_.size();
    if (found == NO_STATE) return Phase::failed;
    const std::vector<OperatorId> steps = nodes_.plan_to(found);
    plan_.insert(plan_.end(), steps.begin(), steps.end());
    cost_ += nodes_[found].g;
    nodes_.values(found, current_.data());
    current_h_ = found_h;
    return Phase::better;
}

SearchResult EnforcedHillClimbing::run(const Limits &limits) {
    LimitWatch watch(limits);
    const Limits timed = clock_only(limits);
    LimitWatch clock(timed);
    SearchResult result;
    at_goal_ = nodes_.task().is_goal(current_.data());
    if (at_goal_ && cost_ >= bound_) {
        failed_ = true;
        dropped_ = true;
    }
    if (!at_goal_ && current_h_ == INFINITE_COST && !failed_) {
        current_h_ = heuristic_.evaluate(current_.data());
        ++progress_.evaluations;
        failed_ = current_h_ == INFINITE_COST;
    }
    Phase phase = failed_ ? Phase::failed : Phase::better;
    while (phase == Phase::better && !at_goal_) {
        phase = search_phase(options_.helpful, watch, clock);
        if (phase == Phase::failed && options_.helpful) phase = search_phase(false, watch, clock);
        if (phase == Phase::better) first_phase_ = false;
    }
    failed_ = phase == Phase::failed;
    result.limit = phase == Phase::stopped ? limit_ : Limit::none;
    result.status = phase == Phase::stopped ? Status::limit : failed_ ? Status::exhausted : Status::plan;
    if (result.status == Status::plan) {
        result.plan = plan_;
        result.cost = cost_;
    } else if (failed_ && first_phase_ && !dropped_) {
        result.lower_bound = INFINITE_COST;
    }
    result.progress = progress_;
    result.progress.bytes = bytes();
    result.registered = registered_;
    return result;
}

}  // namespace misstep
