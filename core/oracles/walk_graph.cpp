#include "oracles/walk_graph.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace misstep {

WalkGraph::WalkGraph(const SuccessorGenerator &generator, const ValuePreorder &order, std::span<const int> walk)
    : generator_(generator),
      task_(generator.task()),
      order_(order),
      walk_(walk),
      width_(task_.variable_count()),
      size_(walk.size() / width_),
      targets_(size_ * order.target_words()),
      ways_(size_) {
    for (std::size_t k = 0; k < size_; ++k) order.pack_target(state(k), targets_.data() + k * order.target_words());
    std::vector<OperatorId> operators;
    std::vector<std::uint64_t> successor(generator.packer().words());
    std::vector<char> is_known(size_);
    for (std::size_t k = 0; k < size_; ++k) {
        std::fill(is_known.begin(), is_known.end(), 0);
        const auto look = [&](const std::uint64_t *reached, OperatorId op) {
            for (std::size_t j = 0; j < size_; ++j) {
                if (is_known[j] || !order.reaches(reached, target(j))) continue;
                is_known[j] = 1;
                const bool none = op == NO_OPERATOR;
                ways_[k].push_back(
                    {static_cast<std::uint32_t>(j), none ? 0u : 1u, none ? 0 : task_.cost(op), op, NONE});
            }
        };
        look(target(k), NO_OPERATOR);  // first without an operator, which is cheapest
        generator.applicable(state(k), operators);
        std::stable_sort(operators.begin(), operators.end(),
                         [&](OperatorId a, OperatorId b) { return task_.cost(a) < task_.cost(b); });
        for (OperatorId op : operators) {
            generator.apply(op, target(k), successor.data());
            look(successor.data(), op);
        }
        std::sort(ways_[k].begin(), ways_[k].end(), [](const Way &a, const Way &b) { return a.to < b.to; });
    }
}

void WalkGraph::add(std::size_t from, const Way &way) {
    auto place = std::lower_bound(ways_[from].begin(), ways_[from].end(), way.to,
                                  [](const Way &w, std::uint32_t to) { return w.to < to; });
    if (place == ways_[from].end() || place->to != way.to) {
        ways_[from].insert(place, way);
    } else if (way.cost < place->cost) {
        *place = way;
    }
}

void WalkGraph::add_way(std::size_t from, const std::vector<OperatorId> &operators) {
    const auto path = static_cast<std::uint32_t>(paths_.size());
    paths_.push_back(operators);
    std::vector<std::uint64_t> here(target(from), target(from) + generator_.packer().words()), next(here.size());
    Cost cost = 0;
    for (std::uint32_t length = 1; length <= operators.size(); ++length, here.swap(next)) {
        const OperatorId op = operators[length - 1];
        generator_.apply(op, here.data(), next.data());
        cost += task_.cost(op);
        for (std::size_t j = 0; j < size_; ++j)
            if (order_.reaches(next.data(), target(j)))
                add(from, {static_cast<std::uint32_t>(j), length, cost, NO_OPERATOR, path});
    }
}

void WalkGraph::update() {
    reached_.assign(size_, {});
    using Entry = std::tuple<Cost, std::uint32_t, std::uint32_t, std::uint32_t>;  // cost, length, state, parent
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const auto last = static_cast<std::uint32_t>(size_ - 1);
    queue.emplace(0, 0, last, last);
    while (!queue.empty()) {
        const auto [cost, length, k, parent] = queue.top();
        queue.pop();
        if (is_reached(k)) continue;
        reached_[k] = {cost, length, parent};
        for (const Way &way : ways_[k])
            if (!is_reached(way.to)) queue.emplace(cost + way.cost, length + way.length, way.to, k);
    }
}

std::size_t WalkGraph::earliest() const {
    std::size_t k = 0;
    while (!is_reached(k)) ++k;
    return k;
}

const WalkGraph::Way &WalkGraph::way(std::size_t from, std::uint32_t to) const {
    return *std::lower_bound(ways_[from].begin(), ways_[from].end(), to,
                             [](const Way &w, std::uint32_t t) { return w.to < t; });
}

std::vector<OperatorId> WalkGraph::way_to(std::size_t k) const {
    std::vector<OperatorId> result;  // in reverse order until the end
    for (auto at = static_cast<std::uint32_t>(k); at != size_ - 1; at = reached_[at].parent) {
        const Way &step = way(reached_[at].parent, at);
        if (step.path == NONE) {
            if (step.length == 1) result.push_back(step.op);
        } else {
            for (std::uint32_t i = step.length; i-- > 0;) result.push_back(paths_[step.path][i]);
        }
    }
    std::reverse(result.begin(), result.end());
    return result;
}

}  // namespace misstep
