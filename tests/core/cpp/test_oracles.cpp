#include <map>
#include <memory>
#include <set>

#include "check.h"
#include "oracles/greedy_lookahead.h"
#include "oracles/run_feeder.h"
#include "oracles/walk_graph.h"
#include "oracles/way_back.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

// One variable. Two paths from 0 to the goal 4, by 1 and 2 or by 3, and an operator from 1 back to 0.
Task two_ways() {
    return make_task(
        {5}, {0}, {{0, 4}},
        {step(0, 0, 1, 2), step(0, 1, 2, 3), step(0, 2, 4, 5), step(0, 0, 3, 1), step(0, 3, 4, 4), step(0, 1, 0, 1)});
}

void test_run_feeder_by_hand() {
    const Task task = two_ways();
    const SuccessorGenerator generator(task);
    PolicyGraph policy(generator);
    BoundStore store(generator);
    const auto id = [&](int value) { return policy.add(&value); };
    const auto cost = [&](int value) { return store.distances().cost(store.add(&value)); };
    for (const auto &[value, op] : {std::pair{0, 0}, {1, 1}, {2, 2}, {3, 0}}) policy.decide(id(value), op);
    RunFeeder feeder(policy, store);
    feeder.feed(id(0), 0);
    CHECK_EQUAL(store.transitions().transition_count(), 0U);
    CHECK_EQUAL(store.transitions().size(), 1U);  // the store knows the start
    feeder.feed(id(0), 2);
    CHECK_EQUAL(store.transitions().transition_count(), 2U);
    CHECK_EQUAL(cost(0), INFINITE_COST);
    feeder.feed(id(0), 3);
    CHECK_EQUAL(store.transitions().transition_count(), 3U);
    CHECK_EQUAL(cost(0), 10);
    CHECK_EQUAL(cost(2), 5);
    feeder.feed(id(1));  // merges into a run that was followed before
    CHECK_EQUAL(store.transitions().transition_count(), 3U);
    feeder.feed(id(3));  // names an operator that does not apply
    CHECK_EQUAL(store.transitions().transition_count(), 3U);
    CHECK_EQUAL(cost(3), INFINITE_COST);
}

// The store has exactly the transitions of the steps that were fed.
void test_run_feeder_on_random_policies() {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Task task = random_task({3, 2, 4}, 12, seed, true);
        const SuccessorGenerator generator(task);
        const AllStates all(task);
        PolicyGraph policy(generator);
        CounterRandom random(seed, 5);
        std::vector<OperatorId> operators;
        for (int i = 0; i < all.count(); ++i) {
            const StateId state = policy.add(all.state(i).data());
            generator.applicable(all.state(i).data(), operators);
            if (!operators.empty() && !policy.is_goal(state))
                policy.decide(state, operators[random.below(operators.size())]);
        }
        BoundStore store(generator);
        RunFeeder feeder(policy, store);
        std::set<StateId> expected;
        for (int i = 0; i < 12; ++i) {
            const auto start = static_cast<StateId>(random.below(static_cast<std::uint64_t>(all.count())));
            const bool whole = random.below(4) == 0;
            const auto steps = static_cast<std::uint32_t>(random.below(6));
            feeder.feed(start, whole ? RunFeeder::WHOLE_RUN : steps);
            StateId at = start;
            // A run longer than the number of states repeats itself.
            for (int left = whole ? all.count() : static_cast<int>(steps); left > 0; --left) {
                if (policy.successor(at) == NO_STATE) break;
                expected.insert(at);
                at = policy.successor(at);
            }
            std::set<StateId> found;
            for (TransitionId t = 0; t < store.transitions().transition_count(); ++t) {
                const TransitionCache::Transition &transition = store.transitions().transition(t);
                std::vector<int> values(3);
                store.transitions().values(transition.source, values.data());
                const StateId source = policy.find(values.data());
                CHECK_EQUAL(transition.op, policy.decision(source));
                CHECK(found.insert(source).second);  // once
            }
            CHECK(found == expected);
        }
    }
}

// A heuristic given as a table, by the value of the only variable.
class Told : public Heuristic {
   public:
    explicit Told(std::map<int, Cost> estimates) : estimates_(std::move(estimates)) {}
    Cost evaluate(const int *values) override { return estimates_.at(values[0]); }
    std::size_t bytes() const override { return 0; }

   private:
    std::map<int, Cost> estimates_;
};

void test_greedy_lookahead() {
    const Task task = two_ways();
    const SuccessorGenerator generator(task);
    BoundStore store(generator);
    const auto id = [&](int value) { return store.add(&value); };
    using Ids = std::vector<StateId>;
    Told estimates({{1, 5}, {2, 9}, {3, 1}});
    GreedyLookahead lookahead(store, estimates, id(0));
    CHECK(lookahead.advance(0).empty());
    CHECK(lookahead.advance(1) == (Ids{id(1), id(3)}));
    CHECK(lookahead.advance(1).empty());  // 3 looks best, and its only successor is a goal
    CHECK_EQUAL(store.distances().cost(id(0)), 5);
    CHECK(!store.transitions().is_expanded(id(1)));
    CHECK(lookahead.advance(10) == (Ids{id(2)}));  // 0 was met before
    CHECK(lookahead.exhausted() && store.complete());
    CHECK_EQUAL(lookahead.expansions(), 4U);
    CHECK_EQUAL(lookahead.evaluations(), 3U);

    BoundStore other(generator);
    const int zero = 0, four = 4;
    Told dead({{1, INFINITE_COST}, {3, 1}});
    GreedyLookahead careful(other, dead, other.add(&zero));
    CHECK_EQUAL(careful.advance(10).size(), 1U);  // the heuristic calls 1 a dead end
    CHECK(careful.exhausted() && careful.expansions() == 2);
    CHECK(GreedyLookahead(other, dead, other.add(&four)).exhausted());
}

WayBack way_back(const SuccessorGenerator &generator) {
    return {generator, std::make_shared<const RelaxedTask>(generator.task())};
}

// A line with operators in both directions, except that the only path from 3 to 2 is 3 -> 4 -> 2.
//   0, 1, 2: forwards (1)   3, 4: back to 0 and 1 (2)   5: 3 to 4 (1)   6: 4 to 2 (6)   7: 3 to the dead end 5 (1)
Task line() {
    return make_task({6}, {0}, {{0, 0}},
                     {step(0, 0, 1), step(0, 1, 2), step(0, 2, 3), step(0, 1, 0, 2), step(0, 2, 1, 2), step(0, 3, 4),
                      step(0, 4, 2, 6), step(0, 3, 5)});
}

void test_way_back_by_hand() {
    const Task task = line();
    const SuccessorGenerator generator(task);
    WayBack finder = way_back(generator);
    const auto back = [&](const std::vector<int> &walk, const std::vector<Cost> &plans, Cost bound = INFINITE_COST,
                          std::uint64_t expansions = 1'000) {
        Limits limits;
        limits.expansions = expansions;
        return finder.back(walk, plans, bound, limits);
    };
    using Operators = std::vector<OperatorId>;
    constexpr Cost NONE = INFINITE_COST;
    WayBack::Way way = back({0, 1, 2}, {10, NONE, NONE});
    CHECK(way.found && way.operators == (Operators{4, 3}) && way.target == 0);
    CHECK_EQUAL(way.cost, 4);
    CHECK_EQUAL(way.expansions, 0U);  // one operator undoes each step, so no search is needed
    way = back({0, 1, 2}, {10, 11, NONE});
    CHECK(way.found && way.target == 1 && way.cost == 2);  // 13, not 14
    way = back({0, 1, 2}, {10, 11, 12});
    CHECK(way.found && way.target == 2 && way.operators.empty());
    CHECK(back({0, 1, 2}, {10, NONE, NONE}, 15).found);
    CHECK(!back({0, 1, 2}, {10, NONE, NONE}, 14).found);
    way = back({0, 1, 2, 3}, {10, NONE, NONE, NONE});
    CHECK(way.found && way.operators == (Operators{5, 6, 4, 3}));
    CHECK_EQUAL(way.cost, 11);
    CHECK(way.expansions > 0);
    way = back({0, 1, 2, 3}, {10, NONE, NONE, NONE}, INFINITE_COST, 0);
    CHECK(!way.found && way.limit == Limit::expansions);
    way = back({1, 2, 3, 5}, {2, NONE, NONE, NONE});
    CHECK(!way.found && way.limit == Limit::none);  // proven
    CHECK(!back({0, 1, 2}, {NONE, NONE, NONE}).found);
}

// No plan needs the value 0 of the second variable, so a state where it is 1 is as good, and no operator is spent on it. Of
// two operators for the same step, the cheaper one is used.
void test_values_that_nobody_needs() {
    const Task task = make_task(
        {2, 2}, {0, 0}, {{0, 0}},
        {{"mess", {{0, 0}}, {{{}, {0, 1}}, {{}, {1, 1}}}, 1}, step(0, 1, 0, 3), step(0, 1, 0), step(1, 1, 0)});
    const SuccessorGenerator generator(task);
    WayBack finder = way_back(generator);
    const std::vector<int> walk{0, 0, 1, 1};
    const std::vector<Cost> plans{7, INFINITE_COST};
    const WayBack::Way way = finder.back(walk, plans, INFINITE_COST, {});
    CHECK(way.found && way.operators == (std::vector<OperatorId>{2}));

    const ValuePreorder order(generator);
    WalkGraph graph(generator, order, walk);
    graph.update();
    CHECK(graph.is_reached(0) && graph.earliest() == 0);
    CHECK_EQUAL(graph.cost(0), 1);
    CHECK_EQUAL(graph.length(0), 1U);
}

Task::RawOperator raw(const Task &task, OperatorId op) {
    Task::RawOperator result{"op", {}, {}, task.cost(op)};
    for (const Fact &fact : task.preconditions(op)) result.preconditions.push_back(fact);
    for (int i = 0; i < task.effect_count(op); ++i) {
        const Effect effect = task.effect(op, i);
        result.effects.push_back({{effect.conditions.begin(), effect.conditions.end()}, effect.fact});
    }
    return result;
}

// Searches find a cheapest path, and a path back is found if and only if there is one.
void test_way_back_on_random_walks() {
    const std::vector<int> sizes{3, 2, 3};
    int found = 0, lost = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Task task = random_task(sizes, 8, seed);
        const SuccessorGenerator generator(task);
        const ValuePreorder order(generator);
        WayBack finder = way_back(generator);
        CounterRandom random(seed, 9);
        std::vector<int> state = random_state(sizes, random), walk = state;
        std::vector<OperatorId> operators;
        for (int i = 0; i < 5; ++i) {
            generator.applicable(state.data(), operators);
            if (operators.empty()) break;
            task.apply(operators[random.below(operators.size())], state.data(), state.data());
            walk.insert(walk.end(), state.begin(), state.end());
        }
        std::vector<Task::RawOperator> list;
        for (OperatorId op = 0; op < task.operator_count(); ++op) list.push_back(raw(task, op));
        std::vector<Cost> plans, distances;
        for (std::size_t k = 0; k * 3 < walk.size(); ++k) {
            // h* of the task whose goal is what a state at least as good as this one must share
            const int *target = walk.data() + k * 3;
            distances.push_back(AllStates(make_task(sizes, state, order.needed_facts(target), list)).distance(state));
            const WayBack::Way way = finder.search(state.data(), target, {});
            CHECK_EQUAL(way.found, distances.back() < INFINITE_COST);
            if (way.found) CHECK_EQUAL(way.cost, distances.back());
            plans.push_back(random.below(2) ? static_cast<Cost>(random.below(9)) : INFINITE_COST);
        }
        bool expected = false;
        for (std::size_t k = 0; k < plans.size(); ++k)
            expected = expected || (plans[k] < INFINITE_COST && distances[k] < INFINITE_COST);
        const WayBack::Way way = finder.back(walk, plans, INFINITE_COST, {});
        CHECK_EQUAL(way.found, expected);
        found += way.found;
        lost += !way.found;
        if (!way.found) continue;
        Cost cost = 0;
        std::vector<int> at = state;
        for (OperatorId op : way.operators) {
            CHECK(task.applicable(op, at.data()));
            task.apply(op, at.data(), at.data());
            cost += task.cost(op);
        }
        CHECK_EQUAL(way.cost, cost);
        CHECK(plans[way.target] < INFINITE_COST && order.at_least(at.data(), walk.data() + way.target * 3));
        const WayBack::Way cheaper = finder.back(walk, plans, cost + plans[way.target], {});
        CHECK(!cheaper.found || cheaper.cost + plans[cheaper.target] < cost + plans[way.target]);
    }
    CHECK(found > 10 && lost > 5);
}

}  // namespace

int main() {
    test_run_feeder_by_hand();
    test_run_feeder_on_random_policies();
    test_greedy_lookahead();
    test_way_back_by_hand();
    test_values_that_nobody_needs();
    test_way_back_on_random_walks();
    return misstep::test::result();
}
