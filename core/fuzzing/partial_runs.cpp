#include "fuzzing/partial_runs.h"

#include <algorithm>

#include "policygraph/runs.h"

namespace misstep {

PartialRuns::PartialRuns(PolicyGraph &graph, std::vector<StateId> candidates, std::uint32_t state_budget,
                         std::uint32_t expansion_budget)
    : graph_(graph),
      candidates_(std::move(candidates)),
      state_budget_(state_budget),
      expansion_budget_(expansion_budget) {
    for (StateId candidate : candidates_) fronts_.push_back({candidate, 0});
}

const std::vector<StateId> &PartialRuns::advance() {
    pending_.clear();
    // For every run that the rule allows, `left` is at least the budget that the rule leaves for it: each earlier run takes at
    // least the steps of its front, unless its own share ends before, and then nothing is left for later runs anyway.
    std::uint32_t left = expansion_budget_;
    for (std::size_t k = 0; k < fronts_.size() && left > 0; ++k) {
        const std::uint32_t limit = std::min(left, state_budget_);
        Front &front = fronts_[k];
        const auto is_open = [&] { return graph_.end(front.at).outcome == Outcome::open; };
        while (front.steps < limit && is_open() && graph_.is_decided(front.at)) {
            front.at = graph_.successor(front.at);
            ++front.steps;
        }
        std::uint32_t taken = front.steps;
        if (!is_open()) taken = graph_.end(candidates_[k]).steps;
        else if (front.steps < limit) pending_.push_back(front.at);
        left -= std::min(taken, limit);
    }
    std::sort(pending_.begin(), pending_.end());
    pending_.erase(std::unique(pending_.begin(), pending_.end()), pending_.end());
    return pending_;
}

Limit PartialRuns::run(NativePolicy &policy, const Limits &limits) {
    std::uint32_t left = expansion_budget_;
    for (StateId candidate : candidates_) {
        if (left == 0) break;
        const std::uint32_t limit = std::min(left, state_budget_);
        const Limit reached = run_native(graph_, policy, {candidate}, limit, limits);
        if (reached != Limit::none) return reached;
        left -= graph_.end(candidate, limit).steps;
    }
    return Limit::none;
}

const std::vector<RunEnd> &PartialRuns::ends() {
    ends_.clear();
    std::uint32_t left = expansion_budget_;
    for (StateId candidate : candidates_) {
        if (left == 0) break;
        ends_.push_back(graph_.end(candidate, std::min(left, state_budget_)));
        left -= ends_.back().steps;
    }
    return ends_;
}

}  // namespace misstep
