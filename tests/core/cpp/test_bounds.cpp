#include <array>
#include <set>

#include "base/contradiction.h"
#include "bounds/bound_store.h"
#include "bounds/knowledge.h"
#include "check.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

constexpr std::uint64_t PLENTY = 1'000'000;
const Limits NO_LIMITS;

// One variable. Two paths from 0 to the goal 4, by 1 and 2 for 10 or by 3 for 5, and an operator from 1 back to 0.
Task two_ways() {
    return make_task(
        {5}, {0}, {{0, 4}},
        {step(0, 0, 1, 2), step(0, 1, 2, 3), step(0, 2, 4, 5), step(0, 0, 3, 1), step(0, 3, 4, 4), step(0, 1, 0, 1)});
}

struct TwoWays {
    Task task = two_ways();
    SuccessorGenerator generator{task};
    BoundStore store{generator};
    StateId id(int value) { return store.add(&value); }
    StateId find(int value) const { return store.transitions().find(&value); }
};

void test_plans() {
    const Task task = two_ways();
    const int start = 0;
    CHECK_EQUAL(replay(task, &start, Plan{0, 1, 2}), 10);
    CHECK_EQUAL(replay(task, &start, Plan{0, 5, 3, 4}), 8);
    CHECK_EQUAL(cost_of(task, Plan{4, 4}), 8);
    for (const Plan &wrong : {Plan{}, Plan{0}, Plan{0, 2}, Plan{6}, Plan{-1}, Plan{3, 4, 4}})
        CHECK_THROWS(replay(task, &start, wrong), InvalidPlan);
}

void test_distances() {
    TwoWays t;
    const StateId start = t.id(0);
    CHECK_EQUAL(t.store.distances().cost(start), INFINITE_COST);
    t.store.add_path(start, Plan{0, 1, 2});
    CHECK_EQUAL(t.store.distances().cost(start), 10);
    CHECK_EQUAL(t.store.distances().cost(t.id(1)), 8);
    CHECK_EQUAL(t.store.distances().cost(t.id(4)), 0);
    const std::uint64_t revision = t.store.distances().revision();
    t.store.add_transition(t.id(1), 5);  // closes a cycle, and makes no path to a goal cheaper
    CHECK_EQUAL(t.store.distances().revision(), revision);
    t.store.add_path(start, Plan{3, 4});
    CHECK_EQUAL(t.store.distances().cost(start), 5);
    CHECK_EQUAL(t.store.distances().cost(t.id(1)), 6);
    CHECK(t.store.distances().revision() != revision);
    CHECK(t.store.distances().plan(t.id(1)) == (Plan{5, 3, 4}));
    std::vector<StateId> states;
    t.store.distances().path(t.id(1), states);
    CHECK(states == (std::vector{t.id(1), t.id(0), t.id(3), t.id(4)}));
    CHECK_EQUAL(t.store.transitions().transition_count(), 6U);
    t.store.add_path(start, Plan{3, 4});  // the store has it already
    CHECK_EQUAL(t.store.transitions().transition_count(), 6U);
    CHECK(!t.store.complete());  // a path expands nothing
}

void test_lower_bounds_travel_forwards() {
    TwoWays t;
    const StateId start = t.id(0);
    t.store.add_path(start, Plan{0, 1});
    t.store.raise_lower_bound(start, 5);
    CHECK_EQUAL(t.store.lower_bounds().cost(start), 5);
    CHECK_EQUAL(t.store.lower_bounds().cost(t.id(1)), 3);
    CHECK_EQUAL(t.store.lower_bounds().cost(t.id(2)), 1);  // not 0: operators cost at least 1
    t.store.add_path(start, Plan{3, 4});                   // added after the bound
    CHECK_EQUAL(t.store.lower_bounds().cost(t.id(3)), 4);
    CHECK_EQUAL(t.store.lower_bounds().cost(t.id(4)), 0);
    t.store.raise_lower_bound(t.id(2), 5);
    t.store.raise_lower_bound(t.id(2), 2);  // weaker
    CHECK_EQUAL(t.store.lower_bounds().cost(t.id(2)), 5);
    CHECK_EQUAL(t.store.lower_bounds().cost(t.id(1)), 3);  // bounds are not propagated backwards

    const Task trap = make_task({4}, {0}, {{0, 3}}, {step(0, 0, 1, 7), step(0, 1, 2, 7), step(0, 0, 3, 7)});
    const SuccessorGenerator generator(trap);
    BoundStore store(generator);
    const int one = 1;
    store.add_path(store.add(&one), Plan{1});
    store.raise_lower_bound(store.add(&one), INFINITE_COST);
    const int two = 2;
    CHECK_EQUAL(store.lower_bounds().cost(store.add(&two)), INFINITE_COST);
}

void test_jumps() {
    TwoWays t;
    t.store.add_path(t.id(1), Plan{1});
    t.store.add_jump(t.id(2), t.id(3), -1);  // h*(2) <= h*(3) + 1
    CHECK_EQUAL(t.store.upper_bounds().cost(t.id(2)), INFINITE_COST);
    t.store.add_path(t.id(3), Plan{4});  // a plan that is found later improves all states that jump to it
    CHECK_EQUAL(t.store.upper_bounds().cost(t.id(2)), 5);
    CHECK_EQUAL(t.store.upper_bounds().cost(t.id(1)), 8);
    CHECK_EQUAL(t.store.distances().cost(t.id(1)), INFINITE_COST);  // a derived bound is not a plan
    CHECK(t.store.upper_bounds().is_derived(t.id(1)) && !t.store.upper_bounds().is_derived(t.id(3)));
    const std::vector<DerivedBounds::Step> steps = t.store.upper_bounds().derivation(t.id(1));
    CHECK_EQUAL(steps.size(), 3U);
    CHECK(steps[0].op == 1 && steps[0].target == t.id(2));
    CHECK(steps[1].op == NO_OPERATOR && steps[1].target == t.id(3) && steps[1].value == -1);
    CHECK(steps[2].op == 4 && steps[2].target == t.id(4));

    t.store.add_jump(t.id(2), t.id(3), -2);  // worse than the jump that was added before
    CHECK_EQUAL(t.store.upper_bounds().jumps(), 1U);
    t.store.add_path(t.id(2), Plan{2});
    CHECK(!t.store.upper_bounds().is_derived(t.id(2)));  // a plan at the same cost is the better witness
    t.store.add_jump(t.id(2), t.id(4), 1);               // wrong: no state is better than a goal
    CHECK_THROWS(t.store.upper_bounds(), Contradiction);

    // Two jumps that each prove a little less for ever, from a bound so high that it would never fall below 0.
    TwoWays endless;
    endless.store.add_path(endless.id(3), Plan{4});
    endless.store.add_jump(endless.id(1), endless.id(3), -(INFINITE_COST / 2));
    endless.store.add_jump(endless.id(2), endless.id(1), 1);
    endless.store.add_jump(endless.id(1), endless.id(2), 0);
    CHECK_THROWS(endless.store.upper_bounds(), Contradiction);
}

void test_look_ahead() {
    const auto leaves = [](int depth, Cost bound, std::uint64_t generated) {
        TwoWays t;
        BoundStore::Budget budget(NO_LIMITS, generated);
        std::set<std::pair<int, Cost>> result;
        for (const BoundStore::Leaf &leaf : t.store.look_ahead(t.id(0), depth, bound, budget)) {
            int value = 0;
            t.store.transitions().values(leaf.state, &value);
            result.emplace(value, leaf.cost);
        }
        return result;
    };
    using Leaves = std::set<std::pair<int, Cost>>;
    CHECK(leaves(0, 100, PLENTY) == (Leaves{{0, 0}}));
    CHECK(leaves(1, 100, PLENTY) == (Leaves{{1, 2}, {3, 1}}));
    CHECK(leaves(2, 100, PLENTY) == (Leaves{{2, 5}}));  // 0 is reached by a shorter path, and 4 is a goal
    CHECK(leaves(2, 5, PLENTY).empty());
    CHECK(leaves(3, 100, PLENTY).empty());
    CHECK(leaves(3, 100, 1) == (Leaves{{1, 2}, {3, 1}}));  // a limit keeps them from being expanded
}

void test_growing() {
    TwoWays t;
    BoundStore::Budget budget(NO_LIMITS, PLENTY);
    CHECK(!t.store.grow(t.id(0), 1, budget));
    CHECK_EQUAL(t.store.lower_bounds().cost(t.id(0)), 1);
    CHECK(t.store.grow(t.id(0), PLENTY, budget));
    CHECK(t.store.complete() && budget.limit == Limit::none);
    const AllStates all(t.task);
    for (int value = 0; value < 5; ++value) {
        CHECK_EQUAL(t.store.distances().cost(t.find(value)), all.distance({value}));
        CHECK_EQUAL(t.store.lower_bounds().cost(t.find(value)), all.distance({value}));
    }
    TwoWays limited;
    BoundStore::Budget small(NO_LIMITS, 2);
    CHECK(!limited.store.grow(limited.id(0), PLENTY, small));
    CHECK(small.limit == Limit::generated && limited.find(2) == NO_STATE);
    TwoWays planned;
    planned.store.add_plan(planned.id(0), Plan{0, 1, 2}, budget);
    CHECK_EQUAL(planned.store.distances().cost(planned.id(0)), 10);
    CHECK_EQUAL(planned.store.transitions().open_count(), 1U);  // state 3, which is a successor of a state of the plan
}

// A store that grows at random, and a list of all edges and bounds that were added to it.
struct Random {
    struct Edge {
        StateId source, target;
        Cost weight;
        bool jump;
    };
    Random(const Task &task, std::uint64_t seed)
        : task(task), generator(task), store(generator), all(task), random(seed, 1) {
        for (int i = 0; i < all.count(); ++i) store.add(all.state(i).data());  // ids are the numbers of the states
    }
    void grow() {
        std::vector<OperatorId> operators;
        for (int i = 0; i < 6; ++i) {
            const StateId id = any();
            generator.applicable(all.state(static_cast<int>(id)).data(), operators);
            if (!operators.empty()) {
                const OperatorId op = operators[random.below(operators.size())];
                edges.push_back({id, store.add_transition(id, op), task.cost(op), false});
            }
            const StateId source = any(), state = any();
            if (h(source) < INFINITE_COST && h(state) < INFINITE_COST && source != state) {
                const Cost value = h(source) - h(state) - noise();
                store.add_jump(state, source, value);
                edges.push_back({state, source, -value, true});
            }
        }
        const StateId id = any();
        raised.emplace_back(id, h(id) >= INFINITE_COST ? INFINITE_COST : h(id) - noise());
        store.raise_lower_bound(id, raised.back().second);
    }
    StateId any() { return static_cast<StateId>(random.below(static_cast<std::uint64_t>(all.count()))); }
    Cost noise() { return static_cast<Cost>(random.below(3)); }
    Cost h(StateId id) const { return all.distance(all.state(static_cast<int>(id))); }
    std::vector<Cost> upper(bool with_jumps) const {
        std::vector<Cost> result(static_cast<std::size_t>(all.count()), INFINITE_COST);
        for (StateId id = 0; id < result.size(); ++id)
            if (store.transitions().is_goal(id)) result[id] = 0;
        for (bool changed = true; changed;) {
            changed = false;
            for (const Edge &edge : edges) {
                if ((edge.jump && !with_jumps) || result[edge.target] >= INFINITE_COST) continue;
                if (result[edge.target] + edge.weight >= result[edge.source]) continue;
                result[edge.source] = result[edge.target] + edge.weight;
                changed = true;
            }
        }
        return result;
    }
    std::vector<Cost> lower() const {
        std::vector<Cost> result;
        for (StateId id = 0; id < static_cast<StateId>(all.count()); ++id)
            result.push_back(store.transitions().is_goal(id) ? 0 : task.min_cost());
        for (const auto &[id, bound] : raised) result[id] = std::max(result[id], bound);
        for (bool changed = true; changed;) {
            changed = false;
            for (const Edge &edge : edges) {
                const Cost from = result[edge.source];
                const Cost bound = from >= INFINITE_COST ? INFINITE_COST : from - edge.weight;
                if (edge.jump || bound <= result[edge.target]) continue;
                result[edge.target] = bound;
                changed = true;
            }
        }
        return result;
    }

    const Task &task;
    SuccessorGenerator generator;
    BoundStore store;
    AllStates all;
    CounterRandom random;
    std::vector<Edge> edges;
    std::vector<std::pair<StateId, Cost>> raised;
};

// The bounds that are updated step by step are those that iteration over all edges gives, and they are true.
void test_random_stores() {
    int derived = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Task task = random_task({3, 2, 4}, 12, seed, true);
        Random twin(task, seed);
        for (int round = 0; round < 5; ++round) {
            twin.grow();
            const std::vector<Cost> plans = twin.upper(false), upper = twin.upper(true), lower = twin.lower();
            const DerivedBounds &bounds = twin.store.upper_bounds();
            for (StateId id = 0; id < upper.size(); ++id) {
                CHECK_EQUAL(twin.store.distances().cost(id), plans[id]);
                CHECK_EQUAL(bounds.cost(id), upper[id]);
                CHECK_EQUAL(twin.store.lower_bounds().cost(id), lower[id]);
                CHECK(lower[id] <= twin.h(id) && twin.h(id) <= upper[id]);
                if (upper[id] >= INFINITE_COST) continue;
                derived += bounds.is_derived(id);
                Cost sum = 0;
                StateId at = id;
                for (const DerivedBounds::Step &step : bounds.derivation(id)) {
                    sum += step.op == NO_OPERATOR ? -step.value : task.cost(step.op);
                    at = step.target;
                }
                CHECK(sum == upper[id] && twin.store.transitions().is_goal(at));
            }
        }
    }
    CHECK(derived > 100);
}

void test_knowledge_by_hand() {
    TwoWays t;
    t.store.add_path(t.id(0), Plan{0, 1});
    t.store.add_path(t.id(1), Plan{5});
    t.store.add_path(t.id(3), Plan{4});
    t.store.add_jump(t.id(2), t.id(3), -1);
    t.store.raise_lower_bound(t.id(0), 5);
    const std::array given{1, 0, 1};
    const Knowledge known = knowledge(t.store, given);
    // The proof for 1: its operator to 2, the jump to 3, the plan of 3. Then its operator to 0, which proves nothing, but
    // 0 is given too. For 0, its operator to 1.
    CHECK(known.states == (std::vector<std::int32_t>{1, 0, 2, 3, 4}));
    CHECK(known.lower == (std::vector<std::int64_t>{3, 5, 1, 1, 0}));
    CHECK(known.edges ==
          (std::vector<std::int64_t>{0, 1, 2, 0, 2, Knowledge::JUMP, 3, -1, 3, 4, 4, 0, 0, 5, 1, 0, 1, 0, 0, 0}));

    TwoWays other;
    add_knowledge(other.store, known.states, known.lower, known.edges);
    CHECK_EQUAL(other.store.upper_bounds().cost(other.find(0)), 10);
    CHECK_EQUAL(other.store.upper_bounds().cost(other.find(1)), 8);
    CHECK_EQUAL(other.store.lower_bounds().cost(other.find(1)), 3);
    CHECK_EQUAL(other.store.distances().cost(other.find(3)), 4);

    const std::array trap{2};
    t.store.raise_lower_bound(t.id(2), INFINITE_COST);
    CHECK_EQUAL(knowledge(t.store, trap).lower[0], Knowledge::INFINITE);
}

// Another store has the same bounds for the given states, or better ones if it knew more.
void test_knowledge_of_random_stores() {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Task task = random_task({3, 2, 4}, 12, seed, true);
        Random twin(task, seed), richer(task, seed + 1'000);
        for (int round = 0; round < 4; ++round) twin.grow(), richer.grow();
        std::vector<StateId> ids;
        std::vector<std::int32_t> given;
        for (int i = 0; i < 5; ++i) {
            ids.push_back(twin.any());
            for (int value : twin.all.state(static_cast<int>(ids.back()))) given.push_back(value);
        }
        const Knowledge known = knowledge(twin.store, given);
        BoundStore fresh(twin.generator);
        add_knowledge(fresh, known.states, known.lower, known.edges);
        CHECK_EQUAL(fresh.transitions().size() * 3, known.states.size());
        const std::vector<Cost> before = richer.upper(true);
        add_knowledge(richer.store, known.states, known.lower, known.edges);
        for (StateId id : ids) {
            const StateId same = fresh.transitions().find(twin.all.state(static_cast<int>(id)).data());
            CHECK_EQUAL(fresh.upper_bounds().cost(same), twin.store.upper_bounds().cost(id));
            CHECK_EQUAL(fresh.distances().cost(same), twin.store.distances().cost(id));
            CHECK_EQUAL(fresh.lower_bounds().cost(same), twin.store.lower_bounds().cost(id));
            const Cost better = richer.store.upper_bounds().cost(id);
            CHECK(better <= before[id] && better <= twin.store.upper_bounds().cost(id) && better >= twin.h(id));
        }
    }
}

void test_knowledge_that_does_not_fit() {
    const std::vector<std::int32_t> states{0, 1, 3};
    const std::vector<std::int64_t> lower{5, 3, 4}, edges{0, 0, 1, 0, 2, Knowledge::JUMP, 1, -1};
    const auto refused = [&](std::vector<std::int64_t> bounds, std::vector<std::int64_t> list) {
        TwoWays t;
        CHECK_THROWS(add_knowledge(t.store, states, bounds, list), InvalidKnowledge);
        CHECK_EQUAL(t.store.transitions().size(), 0U);  // nothing was added
    };
    // Jumps that would prove that a plan costs less than 0.
    TwoWays negative;
    CHECK_THROWS(
        add_knowledge(negative.store, states, lower,
                      std::vector<std::int64_t>{0, Knowledge::JUMP, 1, -100, 1, 0, 2, 0, 1, Knowledge::JUMP, 0, -100}),
        InvalidKnowledge);
    TwoWays fits;
    add_knowledge(fits.store, states, lower, edges);
    CHECK_EQUAL(fits.store.transitions().size(), 3U);
    const auto with = [&](std::initializer_list<std::int64_t> last) {
        std::vector<std::int64_t> list = edges;
        list.insert(list.end(), last);
        refused(lower, list);
    };
    with({0, 0, 1});  // three numbers
    with({-1, 0, 1, 0});  // no such row
    with({0, 0, 3, 0});  //
    with({0, 6, 1, 0});  // no such operator
    with({0, -2, 1, 0});  //
    with({0, 0, 1, 7});  // an operator with a value
    with({1, 0, 1, 0});  // does not apply
    with({0, 0, 2, 0});  // leads to another state
    with({1, Knowledge::JUMP, 1, 0});  // to itself
    with({0, Knowledge::JUMP, 3, 0});  // no such row
    with({0, Knowledge::JUMP, 1, INFINITE_COST});
    with({0, Knowledge::JUMP, 1, -INFINITE_COST});
    refused({5, 3}, edges);
    refused({5, 3, -2}, edges);
    refused({5, 3, INFINITE_COST}, edges);
}

}  // namespace

int main() {
    test_plans();
    test_distances();
    test_lower_bounds_travel_forwards();
    test_jumps();
    test_look_ahead();
    test_growing();
    test_random_stores();
    test_knowledge_by_hand();
    test_knowledge_of_random_stores();
    test_knowledge_that_does_not_fit();
    return misstep::test::result();
}
