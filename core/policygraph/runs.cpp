#include "policygraph/runs.h"

namespace misstep {

LockstepRuns::LockstepRuns(PolicyGraph &graph, std::vector<StateId> starts, std::uint32_t max_steps)
    : graph_(graph), max_steps_(max_steps) {
    for (StateId start : starts) fronts_.push_back({start, 0});
}

const std::vector<StateId> &LockstepRuns::advance() {
    for (StateId id : pending_) is_pending_[id] = 0;
    pending_.clear();
    is_pending_.resize(graph_.size(), 0);
    std::size_t kept = 0;
    for (Front front : fronts_) {
        while (graph_.end(front.at).outcome == Outcome::open && front.steps < max_steps_ &&
               graph_.is_decided(front.at)) {
            front.at = graph_.successor(front.at);
            ++front.steps;
        }
        if (graph_.end(front.at).outcome != Outcome::open || front.steps == max_steps_) continue;
        fronts_[kept++] = front;
        if (is_pending_[front.at]) continue;
        is_pending_[front.at] = 1;
        pending_.push_back(front.at);
    }
    fronts_.resize(kept);
    return pending_;
}

Limit run_native(PolicyGraph &graph, NativePolicy &policy, const std::vector<StateId> &starts, std::uint32_t max_steps,
                 const Limits &limits) {
    LimitWatch watch(limits);
    Progress progress;
    std::vector<int> values(graph.task().variable_count());
    std::vector<OperatorId> candidates;
    for (StateId start : starts) {
        StateId at = start;
        for (std::uint32_t steps = 0; steps < max_steps && at != NO_STATE; ++steps, at = graph.successor(at)) {
            if (graph.is_goal(at)) break;
            if (!graph.is_decided(at)) {
                const Limit limit = watch.check(progress, [&] { return graph.bytes(); });
                if (limit != Limit::none) return limit;
                graph.values(at, values.data());
                graph.generator().applicable(values.data(), candidates);
                graph.decide(at, policy.choose(values.data(), candidates));
                ++progress.expansions;
            } else if (graph.end(at).outcome != Outcome::open) {
                break;
            }
        }
    }
    return Limit::none;
}

}  // namespace misstep
