#include "policygraph/repair.h"

#include <algorithm>

namespace misstep {

const char *name(RepairSearch::Status status) {
    switch (status) {
        case RepairSearch::Status::open: return "open";
        case RepairSearch::Status::minimal: return "minimal";
        case RepairSearch::Status::found: return "found";
        case RepairSearch::Status::impossible: return "impossible";
        case RepairSearch::Status::limit: return "limit";
    }
    return "open";
}

RepairSearch::RepairSearch(PolicyGraph &graph, const int *start, const Options &options)
    : graph_(graph),
      generator_(graph.generator()),
      options_(options),
      registry_(generator_.packer().words()),
      values_(graph.task().variable_count()),
      packed_(registry_.words()) {
    generator_.packer().pack(start, packed_.data());
    labels_.push_back({intern(packed_.data()), 0, 0, NO_LABEL, NO_OPERATOR});
    if (options_.bound >= 0) next_layer_.push_back(0);
}

StateId RepairSearch::intern(const std::uint64_t *packed) {
    const auto [id, is_new] = registry_.insert(packed);
    if (is_new) states_.emplace_back();
    return id;
}

StateId RepairSearch::in_graph(StateId id) {
    if (states_[id].in_graph == NO_STATE) {
        generator_.packer().unpack(registry_[id], values_.data());
        states_[id].in_graph = graph_.add(values_.data());
    }
    return states_[id].in_graph;
}

bool RepairSearch::is_dominated(const Label &label) const {
    const Cost cheapest = states_[label.state].cheapest;
    // Without a bound on the cost, a cheaper path with more deviations is never better.
    return cheapest != NOT_KNOWN && (options_.bound >= INFINITE_COST || cheapest <= label.cost);
}

bool RepairSearch::is_promising(const Label &label) {
    if (options_.estimate == nullptr) return true;
    Cost &estimate = states_[label.state].estimate;
    if (estimate == NOT_KNOWN) {
        generator_.packer().unpack(registry_[label.state], values_.data());
        estimate = options_.estimate->evaluate(values_.data());
    }
    return estimate < INFINITE_COST && label.cost + estimate <= options_.bound;
}

void RepairSearch::push(LabelId id) { layer_.emplace(labels_[id].cost, pushed_++, id); }

// False if no path is left to begin a layer with.
bool RepairSearch::begin_layer() {
    bool any = false;
    pending_.clear();
    for (LabelId id : next_layer_) {
        if (!is_promising(labels_[id])) continue;
        any = true;
        if (is_dominated(labels_[id])) continue;  // a better path was expanded after this one was found
        push(id);
        const StateId state = in_graph(labels_[id].state);
        if (!graph_.is_goal(state)) pending_.push_back(state);
    }
    next_layer_.clear();
    if (!any) return false;
    ++layers_;
    std::sort(pending_.begin(), pending_.end());
    pending_.erase(std::unique(pending_.begin(), pending_.end()), pending_.end());
    const std::uint64_t left = options_.max_expansions - result_.expansions;
    steps_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min<std::uint64_t>(options_.run_steps, left)));
    return true;
}

const std::vector<StateId> &RepairSearch::advance(const Limits &limits) {
    LimitWatch watch(limits);
    Progress progress;
    pending_.clear();
    while (result_.status == Status::open) {
        if (layer_.empty()) {
            if (!begin_layer()) {
                finish(Status::impossible, NO_LABEL, layers_);
            } else if (!pending_.empty()) {
                break;
            }
            continue;
        }
        const LabelId id = std::get<LabelId>(layer_.top());
        const Label label = labels_[id];
        if (is_dominated(label)) {
            layer_.pop();
        } else if (generator_.is_goal(registry_[label.state])) {
            finish(Status::minimal, id, layers_ - 1);
        } else if (result_.expansions >= options_.max_expansions) {
            stop();
        } else if (watch.check(progress, [&] { return registry_.bytes() + labels_.capacity() * sizeof(Label); }) !=
                   Limit::none) {
            stop();
        } else {
            const StateId state = in_graph(label.state);
            if (!graph_.is_decided(state)) {  // the run that led here was longer than `steps`
                pending_.assign(1, state);
                steps_ = 1;
                break;
            }
            layer_.pop();
            expand(id, graph_.decision(state));
        }
    }
    return pending_;
}

void RepairSearch::expand(LabelId id, OperatorId decision) {
    ++result_.expansions;
    const Label label = labels_[id];
    states_[label.state].cheapest = label.cost;
    generator_.packer().unpack(registry_[label.state], values_.data());
    generator_.applicable(values_.data(), operators_);
    for (OperatorId op : operators_) {
        const bool follows = op == decision;
        generator_.apply(op, registry_[label.state], packed_.data());
        const Label successor{intern(packed_.data()), label.deviations + (follows ? 0u : 1u),
                              label.cost + graph_.task().cost(op), id, op};
        if (successor.cost > options_.bound || is_dominated(successor)) continue;
        if (follows && !is_promising(successor)) continue;
        const auto successor_id = static_cast<LabelId>(labels_.size());
        labels_.push_back(successor);
        if (generator_.is_goal(packed_.data())) {
            const auto rank = [&](LabelId l) { return std::pair(labels_[l].deviations, labels_[l].cost); };
            if (best_ == NO_LABEL || rank(successor_id) < rank(best_)) best_ = successor_id;
        }
        if (follows) {
            push(successor_id);
        } else {
            next_layer_.push_back(successor_id);
        }
    }
}

void RepairSearch::finish(Status status, LabelId label, std::uint32_t lower_bound) {
    result_.status = status;
    result_.lower_bound = lower_bound;
    if (label == NO_LABEL) return;
    result_.cost = labels_[label].cost;
    for (; labels_[label].parent != NO_LABEL; label = labels_[label].parent) {
        result_.plan.push_back(labels_[label].op);
        result_.states.push_back(in_graph(labels_[labels_[label].parent].state));
    }
    std::reverse(result_.plan.begin(), result_.plan.end());
    std::reverse(result_.states.begin(), result_.states.end());
}

}  // namespace misstep
