#include "fuzzing/estimates.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>

#include "search/astar.h"

namespace misstep {

FFEstimate::FFEstimate(PolicyGraph &graph, std::shared_ptr<const RelaxedTask> relaxed)
    : graph_(graph), relaxed_(std::move(relaxed)), hff_(relaxed_), values_(graph.task().variable_count()) {}

Cost FFEstimate::to_goal(StateId state) {
    if (state >= to_goal_.size()) to_goal_.resize(graph_.size(), UNKNOWN);
    if (to_goal_[state] == UNKNOWN) {
        graph_.values(state, values_.data());
        to_goal_[state] = hff_.evaluate(values_.data());
    }
    return to_goal_[state];
}

PairFF &FFEstimate::from(StateId source) {
    ++clock_;
    if (const auto found = index_.find(source); found != index_.end()) {
        sources_[found->second].used = clock_;
        return *sources_[found->second].explored;
    }
    std::size_t slot = sources_.size();
    if (slot == 0 || slot < capacity_) {
        sources_.push_back({std::make_unique<PairFF>(relaxed_), source, clock_});
    } else {
        const auto oldest = std::min_element(sources_.begin(), sources_.end(),
                                             [](const Source &a, const Source &b) { return a.used < b.used; });
        slot = static_cast<std::size_t>(oldest - sources_.begin());
        index_.erase(sources_[slot].state);
        sources_[slot].state = source;
        sources_[slot].used = clock_;
    }
    index_[source] = slot;
    PairFF &pair = *sources_[slot].explored;
    graph_.values(source, values_.data());
    pair.explore(values_.data());
    if (capacity_ == 0) capacity_ = std::clamp(MAX_BYTES / std::max<std::size_t>(pair.bytes(), 1), LEAST, MOST);
    return pair;
}

Cost FFEstimate::between(StateId source, StateId to) {
    PairFF &pair = from(source);
    graph_.values(to, values_.data());
    return pair.distance(values_.data());
}

Cost NaiveFFEstimate::to_goal(StateId state) {
    graph_.values(state, values_.data());
    return goal_.evaluate(values_.data());
}

Cost NaiveFFEstimate::between(StateId from, StateId to) {
    graph_.values(to, values_.data());
    facts_.clear();
    for (std::size_t v = 0; v < values_.size(); ++v) facts_.push_back({static_cast<int>(v), values_[v]});
    pair_.set_goal(facts_);
    graph_.values(from, values_.data());
    return pair_.evaluate(values_.data());
}

template <class Search>
Cost SearchEstimate::look_up(std::uint64_t key, std::unordered_map<std::uint64_t, Distance> &known, Search &&search) {
    auto found = known.find(key);
    if (found == known.end()) {
        const SearchResult result = search();
        if (known.size() >= MAX_KNOWN) known.clear();
        found = known.emplace(key, Distance{result.lower_bound, result.status == Status::limit}).first;
    }
    was_cut_ |= found->second.cut;
    return found->second.cost;
}

Cost SearchEstimate::to_goal(StateId state) {
    return look_up(state, to_goal_, [&] {
        graph_.values(state, values_.data());
        return AStar(graph_.generator(), &goal_, values_.data()).run(limits_);
    });
}

Cost SearchEstimate::between(StateId from, StateId to) {
    return look_up(std::uint64_t{from} << 32 | to, between_, [&] {
        graph_.values(to, target_.data());
        facts_.clear();
        for (std::size_t v = 0; v < target_.size(); ++v) facts_.push_back({static_cast<int>(v), target_[v]});
        pair_.set_goal(facts_);
        graph_.values(from, values_.data());
        return AStar(graph_.generator(), &pair_, values_.data(), INFINITE_COST, target_.data()).run(limits_);
    });
}

StateId ExactEstimate::find(StateId state) {
    if (state >= numbers_.size()) numbers_.resize(graph_.size(), NO_STATE);
    if (numbers_[state] == NO_STATE) {
        graph_.values(state, values_.data());
        numbers_[state] = space_.find(values_.data());
        if (numbers_[state] == NO_STATE)
            throw std::invalid_argument("h* is not known of a state that is not reachable");
    }
    return numbers_[state];
}

Cost ExactEstimate::between(StateId from, StateId to) { return distances_from(find(from))[find(to)]; }

const std::vector<Cost> &ExactEstimate::distances_from(StateId source) {
    if (const auto found = distances_.find(source); found != distances_.end()) return found->second;
    if ((distances_.size() + 1) * space_.size() * sizeof(Cost) > MAX_BYTES) distances_.clear();
    std::vector<Cost> &distances = distances_[source];
    distances.assign(space_.size(), INFINITE_COST);
    using Entry = std::pair<Cost, StateId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    distances[source] = 0;
    open.push({0, source});
    while (!open.empty()) {
        const auto [cost, state] = open.top();
        open.pop();
        if (cost > distances[state]) continue;
        for (std::uint64_t e = space_.first(state); e < space_.first(state + 1); ++e) {
            const StateId target = space_.targets()[e];
            const Cost reached = cost + graph_.task().cost(space_.operators()[e]);
            if (reached >= distances[target]) continue;
            distances[target] = reached;
            open.push({reached, target});
        }
    }
    return distances;
}

}  // namespace misstep
