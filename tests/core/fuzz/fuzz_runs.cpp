// Successors, the runs of a policy, repairs and ways back in small tasks are compared with what their definitions give.
#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "bytes.h"
#include "fdr/naive.h"
#include "fdr/predecessors.h"
#include "fdr/state_space.h"
#include "heuristics/lmcut.h"
#include "oracles/run_feeder.h"
#include "oracles/way_back.h"
#include "policygraph/repair.h"
#include "policygraph/runs.h"
#include "small_tasks.h"

namespace {

using namespace misstep;

// One task with all of its states and transitions.
class Claims {
   public:
    Claims(const Task &task, test::Bytes &bytes)
        : task_(task), bytes_(bytes), all_(task), states_(all_.states), successors_(all_.successors), generator_(task) {
        draw_policy();
    }
    bool useful() const { return all_.has_choices(); }

    void check_successors() {
        std::vector<OperatorId> operators;
        std::vector<std::uint64_t> packed(static_cast<std::size_t>(generator_.packer().words())), next(packed);
        std::set<std::pair<std::size_t, std::pair<OperatorId, std::size_t>>> backwards, forwards;
        for (std::size_t s = 0; s < states_.size(); ++s) {
            generator_.applicable(states_[s].data(), operators);
            REQUIRE(operators == naive::applicable(task_, states_[s].data()));
            generator_.packer().pack(states_[s].data(), packed.data());
            REQUIRE(generator_.is_goal(packed.data()) == task_.is_goal(states_[s].data()));
            for (const auto &[op, t] : successors_[s]) {
                std::vector<int> values(states_[s].size());
                generator_.apply(op, packed.data(), next.data());
                generator_.packer().unpack(next.data(), values.data());
                REQUIRE(values == states_[t]);
                forwards.insert({s, {op, t}});
            }
        }
        if (task_.has_conditional_effects()) return;
        const PredecessorGenerator predecessors(task_);
        for (std::size_t t = 0; t < states_.size(); ++t) {
            predecessors.operators(states_[t].data(), operators);
            for (const OperatorId op : operators)
                predecessors.for_each_predecessor(op, states_[t].data(), [&](const int *values) {
                    const std::vector<int> state(values, values + states_[t].size());
                    REQUIRE(backwards.insert({all_.numbers.at(state), {op, t}}).second);
                });
        }
        REQUIRE(backwards == forwards);
    }

    void check_space() {
        const StateSpace space(generator_, {states_[start()], states_[start()]}, {});
        REQUIRE(space.complete());
        std::vector<int> values(states_[0].size());
        for (StateId id = 0; id < space.size(); ++id) {
            space.values(id, values.data());
            REQUIRE(space.h_star()[id] == all_.distances[all_.numbers.at(values)]);
            const std::size_t s = all_.numbers.at(values);
            REQUIRE(space.first(id + 1) - space.first(id) == successors_[s].size());
            for (const auto &[op, t] : successors_[s]) REQUIRE(space.find(states_[t].data()) != NO_STATE);
        }
    }

    void check_runs() {
        PolicyGraph graph(generator_);
        for (std::size_t s = 0; s < states_.size(); ++s) REQUIRE(graph.add(states_[s].data()) == s);
        for (int rounds = bytes_.below(3); rounds >= 0; --rounds) {
            for (StateId s = 0; s < states_.size(); ++s)
                if (decisions_[s] != PolicyGraph::UNASKED && (rounds == 0 || bytes_.below(2)))
                    REQUIRE(graph.is_goal(s) || graph.decide(s, decisions_[s]) || rounds == 0);
            for (StateId s = 0; s < states_.size(); ++s) {
                const auto most = static_cast<std::uint32_t>(bytes_.below(12));
                for (const std::uint32_t steps : {most, std::numeric_limits<std::uint32_t>::max()}) {
                    const RunEnd expected = follow(graph, s, steps), got = graph.end(s, steps);
                    REQUIRE(got.outcome == expected.outcome);
                    if (got.outcome != Outcome::open) REQUIRE(got.steps == expected.steps && got.cost == expected.cost);
                }
            }
        }
        BoundStore store(generator_);
        RunFeeder feeder(graph, store);
        for (int runs = bytes_.below(6); runs >= 0; --runs)
            feeder.feed(static_cast<StateId>(start()),
                        bytes_.below(2) ? RunFeeder::WHOLE_RUN : static_cast<std::uint32_t>(bytes_.below(8)));
        for (StateId s = 0; s < states_.size(); ++s) {
            const StateId id = store.add(states_[s].data());
            const Cost bound = store.upper_bounds().cost(id);
            const RunEnd run = graph.end(s);
            REQUIRE(bound >= all_.distances[s]);
            if (bound < INFINITE_COST) REQUIRE(run.outcome == Outcome::goal && run.cost == bound);
        }
    }

    void check_repair() {
        const std::size_t from = start();
        const Cost bound = bytes_.below(3) == 0 ? INFINITE_COST : bytes_.below(12);
        const std::unique_ptr<LMCut> lmcut =
            task_.has_conditional_effects() || bytes_.below(2) ? nullptr : std::make_unique<LMCut>(task_);
        PolicyGraph graph(generator_);
        RepairSearch::Options options;
        options.bound = bound;
        options.run_steps = 1 + static_cast<std::uint32_t>(bytes_.below(8));
        options.max_expansions = bytes_.below(4) == 0 ? static_cast<std::uint64_t>(bytes_.below(16)) : 1'000'000;
        options.estimate = lmcut.get();
        RepairSearch search(graph, states_[from].data(), options);
        while (true) {
            const std::vector<StateId> asked = search.advance();
            if (asked.empty()) break;
            LockstepRuns runs(graph, asked, search.steps());
            for (std::vector<StateId> waiting = runs.advance(); !waiting.empty(); waiting = runs.advance())
                for (const StateId id : waiting) {
                    const OperatorId decision = decisions_[number(graph, id)];
                    graph.decide(id, decision == PolicyGraph::UNASKED ? NO_ACTION : decision);
                }
        }
        const RepairSearch::Result &result = search.result();
        const auto [fewest, cheapest] = least_repair(from, bound);
        const bool possible = cheapest < INFINITE_COST;
        using Status = RepairSearch::Status;
        REQUIRE(result.status != Status::open);
        REQUIRE(!possible || result.lower_bound <= fewest);
        if (result.status == Status::impossible) REQUIRE(!possible);
        if (result.status == Status::limit || result.status == Status::found)
            REQUIRE(result.expansions >= options.max_expansions);
        if (result.status != Status::minimal && result.status != Status::found) return;
        std::size_t at = from;
        std::uint32_t deviations = 0;
        Cost cost = 0;
        std::set<std::size_t> seen;
        REQUIRE(result.plan.size() == result.states.size());
        for (std::size_t i = 0; i < result.plan.size(); ++i) {
            REQUIRE(number(graph, result.states[i]) == at && seen.insert(at).second);
            deviations += result.plan[i] == decisions_[at] ? 0 : 1;
            cost += task_.cost(result.plan[i]);
            at = all_.step(at, result.plan[i]);
            REQUIRE(at < states_.size());
        }
        REQUIRE(task_.is_goal(states_[at].data()) && cost == result.cost && cost <= bound);
        REQUIRE(deviations >= fewest);
        if (result.status == Status::minimal)
            REQUIRE(deviations == fewest && cost == cheapest && result.lower_bound == fewest);
    }

    void check_way_back() {
        WayBack finder(generator_, std::make_shared<const RelaxedTask>(task_));
        const ValuePreorder order(generator_);
        Limits limits;
        const bool limited = bytes_.below(3) == 0;
        limits.expansions = limited ? static_cast<std::uint64_t>(bytes_.below(12)) : limits.expansions;
        const std::size_t from = start(), to = start();
        const WayBack::Way way = finder.search(states_[from].data(), states_[to].data(), limits);
        const std::vector<Cost> costs = costs_from(from);
        Cost least = INFINITE_COST;
        for (std::size_t s = 0; s < states_.size(); ++s)
            if (order.at_least(states_[s].data(), states_[to].data())) {
                least = std::min(least, costs[s]);
                REQUIRE(all_.distances[s] <= all_.distances[to]);
            }
        if (way.found) REQUIRE(way.cost == least && order.at_least(end_of(from, way).data(), states_[to].data()));
        else REQUIRE(way.limit != Limit::none ? limited : least == INFINITE_COST);

        std::vector<int> walk = states_[from];
        std::vector<Cost> plans;
        std::vector<std::size_t> visited{from};
        for (int steps = bytes_.below(6); steps > 0 && !successors_[visited.back()].empty(); --steps) {
            const auto &next = successors_[visited.back()];
            visited.push_back(next[static_cast<std::size_t>(bytes_.below(static_cast<int>(next.size())))].second);
            walk.insert(walk.end(), states_[visited.back()].begin(), states_[visited.back()].end());
        }
        for (const std::size_t s : visited) {
            const Cost known = all_.distances[s];
            plans.push_back(bytes_.below(2) || known == INFINITE_COST ? INFINITE_COST : known + bytes_.below(3));
        }
        const Cost bound = bytes_.below(2) ? INFINITE_COST : bytes_.below(16);
        const WayBack::Way back = finder.back(walk, plans, bound, limits);
        if (!back.found) {
            REQUIRE(limited || back.limit == Limit::none);
            return;
        }
        REQUIRE(plans[back.target] < INFINITE_COST && back.cost + plans[back.target] < bound);
        const std::vector<int> end = end_of(visited.back(), back);
        REQUIRE(order.at_least(end.data(), states_[visited[back.target]].data()));
        REQUIRE(all_.distances[visited.back()] <= back.cost + plans[back.target]);
    }

   private:
    std::size_t start() { return static_cast<std::size_t>(bytes_.take<std::uint16_t>()) % states_.size(); }

    void draw_policy() {
        for (const auto &list : successors_) {
            const int kind = bytes_.below(16);
            if (kind == 0) decisions_.push_back(NO_ACTION);
            else if (kind == 1) decisions_.push_back(FAILED);
            else if (kind == 2) decisions_.push_back(PolicyGraph::UNASKED);
            else if (kind == 3) decisions_.push_back(TIMED_OUT);
            else if ((kind == 4 || list.empty()) && task_.operator_count() > 0)
                decisions_.push_back(bytes_.below(task_.operator_count()));
            else if (list.empty()) decisions_.push_back(NO_ACTION);
            else
                decisions_.push_back(list[static_cast<std::size_t>(bytes_.below(static_cast<int>(list.size())))].first);
        }
    }

    std::size_t number(const PolicyGraph &graph, StateId id) const {
        std::vector<int> values(states_[0].size());
        graph.values(id, values.data());
        return all_.numbers.at(values);
    }

    std::vector<int> end_of(std::size_t from, const WayBack::Way &way) const {
        Cost cost = 0;
        for (const OperatorId op : way.operators) {
            from = all_.step(from, op);
            REQUIRE(from < states_.size());
            cost += task_.cost(op);
        }
        REQUIRE(cost == way.cost);
        return states_[from];
    }

    // The run by its definition, along the decisions that the graph has.
    RunEnd follow(const PolicyGraph &graph, StateId at, std::uint32_t most) const {
        RunEnd run;
        std::set<StateId> seen;
        while (true) {
            run.outcome = graph.is_goal(at) ? Outcome::goal : !seen.insert(at).second ? Outcome::loop : Outcome::open;
            if (run.outcome != Outcome::open) return run;
            if (run.steps == most) {
                run.outcome = Outcome::cut;
                return run;
            }
            const OperatorId decision = graph.decision(at);
            if (decision == PolicyGraph::UNASKED) return run;
            run.outcome = decision == NO_ACTION   ? Outcome::stuck
                          : decision == FAILED    ? Outcome::error
                          : decision == TIMED_OUT ? Outcome::timeout
                                                  : Outcome::inapplicable;
            if (decision < 0 || all_.step(at, decision) == states_.size()) return run;
            run.cost += task_.cost(decision);
            ++run.steps;
            at = static_cast<StateId>(all_.step(at, decision));
        }
    }

    std::vector<Cost> costs_from(std::size_t from) const {
        std::vector<Cost> costs(states_.size(), INFINITE_COST);
        costs[from] = 0;
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t s = 0; s < states_.size(); ++s)
                for (const auto &[op, t] : successors_[s])
                    if (costs[s] < INFINITE_COST && costs[s] + task_.cost(op) < costs[t]) {
                        costs[t] = costs[s] + task_.cost(op);
                        changed = true;
                    }
        }
        return costs;
    }

    // The fewest deviations from the policy of a plan that costs at most `bound`, and the least cost of such a plan.
    std::pair<std::uint32_t, Cost> least_repair(std::size_t from, Cost bound) const {
        const std::size_t layers = states_.size() + 1;
        std::vector<std::vector<Cost>> costs(layers, std::vector<Cost>(states_.size(), INFINITE_COST));
        costs[0][from] = 0;
        for (std::uint32_t d = 0; d < layers; ++d) {
            for (bool changed = true; changed;) {
                changed = false;
                for (std::size_t s = 0; s < states_.size(); ++s) {
                    if (costs[d][s] == INFINITE_COST || task_.is_goal(states_[s].data())) continue;
                    for (const auto &[op, t] : successors_[s]) {
                        const std::size_t next = d + (op == decisions_[s] ? 0 : 1);
                        const Cost cost = costs[d][s] + task_.cost(op);
                        if (next >= layers || cost > bound || cost >= costs[next][t]) continue;
                        costs[next][t] = cost;
                        changed = true;
                    }
                }
            }
            Cost cheapest = INFINITE_COST;
            for (std::size_t s = 0; s < states_.size(); ++s)
                if (task_.is_goal(states_[s].data())) cheapest = std::min(cheapest, costs[d][s]);
            if (cheapest < INFINITE_COST) return {d, cheapest};
        }
        return {0, INFINITE_COST};
    }

    const Task &task_;
    test::Bytes &bytes_;
    const test::Transitions all_;
    const std::vector<std::vector<int>> &states_;
    const std::vector<std::vector<std::pair<OperatorId, std::size_t>>> &successors_;
    const SuccessorGenerator generator_;
    std::vector<OperatorId> decisions_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    const std::vector<int> sizes = test::draw_sizes(bytes);
    // What is decided beside the task comes first, so that a longer task does not change it.
    std::array<std::uint8_t, 256> choices{};
    for (std::uint8_t &byte : choices) byte = bytes.take<std::uint8_t>();
    const Task task = test::draw_task(bytes, sizes);
    test::Bytes rest(choices.data(), choices.size());
    const int what = rest.below(4);
    Claims claims(task, rest);
    if (claims.useful()) ++test::accepted;
    switch (what) {
        case 0:
            claims.check_successors();
            claims.check_space();
            break;
        case 1: claims.check_runs(); break;
        case 2: claims.check_repair(); break;
        default: claims.check_way_back();
    }
    return 0;
}
