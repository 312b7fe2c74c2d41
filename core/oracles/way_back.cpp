#include "oracles/way_back.h"

#include <optional>
#include <tuple>

#include "base/open_list.h"
#include "oracles/walk_graph.h"

namespace misstep {

WayBack::WayBack(const SuccessorGenerator &generator, std::shared_ptr<const RelaxedTask> relaxed)
    : generator_(generator),
      task_(generator.task()),
      order_(generator),
      hmax_(std::move(relaxed)),
      nodes_(generator),
      values_(task_.variable_count()) {}

WayBack::Way WayBack::search(const int *start, const int *target, const Limits &limits) {
    Way result;
    Progress progress;
    LimitWatch watch(limits);
    const Limits timed = clock_only(limits);
    LimitWatch clock(timed);
    hmax_.set_goal(order_.needed_facts(target));
    nodes_.clear();
    h_.clear();
    closed_.clear();
    OpenList<Ties::first_in> open;
    const auto consider = [&](StateId id) {
        if (h_[id] < INFINITE_COST) open.push(nodes_[id].g + h_[id], h_[id], id);
    };
    h_.push_back(hmax_.evaluate(start));
    closed_.push_back(0);
    consider(nodes_.add_root(start));
    while (!open.empty()) {
        const StateId id = open.pop();
        if (closed_[id]) continue;
        nodes_.values(id, values_.data());
        if (order_.at_least(values_.data(), target)) {
            result.found = true;
            result.operators = nodes_.plan_to(id);
            result.cost = nodes_[id].g;
            break;
        }
        result.limit = watch.check(progress, [&] { return nodes_.bytes() + open.bytes(); });
        if (result.limit != Limit::none) break;
        closed_[id] = 1;
        ++progress.expansions;
        generator_.applicable(values_.data(), operators_);
        const Cost g = nodes_[id].g;
        const auto visit = [&](StateId successor, bool is_new, OperatorId op) {
            const Cost new_g = g + task_.cost(op);
            if (is_new) {
                nodes_.values(successor, values_.data());
                h_.push_back(hmax_.evaluate(values_.data()));
                closed_.push_back(0);
            } else if (closed_[successor] || new_g >= nodes_[successor].g) {
                return;  // hmax is consistent, so the cheapest path to a closed state is known
            }
            nodes_[successor] = {new_g, id, op};
            consider(successor);
            const Limit late = clock.check(progress, [&] { return nodes_.bytes() + open.bytes(); });
            if (late != Limit::none) throw InTheMiddle{late};
        };
        try {
            nodes_.expand(id, operators_, visit);
        } catch (const InTheMiddle &stop) {
            result.limit = stop.limit;
            break;
        }
    }
    result.expansions = progress.expansions;
    return result;
}

WayBack::Way WayBack::back(std::span<const int> walk, std::span<const Cost> plans, Cost bound, const Limits &limits) {
    const LimitWatch clock(limits);
    WalkGraph graph(generator_, order_, walk);
    std::uint64_t used = 0;
    const auto look = [&](std::size_t from, std::size_t to, std::uint64_t expansions) {
        Limits part = limits;
        part.expansions = expansions;
        part.seconds = limits.seconds - clock.seconds();
        Way way = search(graph.state(from), graph.state(to), part);
        way.expansions = used += way.expansions;
        way.target = to;
        return way;
    };
    while (true) {
        graph.update();
        std::optional<std::tuple<Cost, std::size_t, std::size_t>> best;  // cost, length of the way, target
        for (std::size_t k = 0; k < graph.size(); ++k) {
            if (!graph.is_reached(k) || plans[k] >= INFINITE_COST) continue;
            const std::tuple candidate{graph.cost(k) + plans[k], graph.length(k), k};
            if (!best || candidate < *best) best = candidate;
        }
        if (best && std::get<0>(*best) < bound) {
            const std::size_t target = std::get<2>(*best);
            return {true, graph.way_to(target), graph.cost(target), target, used, Limit::none};
        }
        // All steps of the walk after `earliest` can be undone, so the step into `earliest` is the next one. It is worth
        // undoing only if the plan of some earlier state is cheap enough.
        const std::size_t earliest = graph.earliest();
        std::size_t next = earliest;
        while (next > 0 && plans[next - 1] >= bound) --next;
        Way none;
        none.expansions = used;
        if (next == 0) return none;
        const std::size_t target = next - 1;
        Way step = look(earliest, earliest - 1, (limits.expansions - used + 1) / 2);
        if (step.found) {
            graph.add_way(earliest, step.operators);
        } else if (step.limit == Limit::none) {
            none.expansions = used;
            return none;
        } else {
            Way direct = look(graph.size() - 1, target, limits.expansions - used);
            direct.found = direct.found && direct.cost + plans[target] < bound;
            return direct;
        }
    }
}

}  // namespace misstep
