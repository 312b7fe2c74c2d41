#include "check.h"
#include "improve/action_elimination.h"
#include "improve/aras.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

// Two switches for one light, a cheap and an expensive one, and a door that has to be opened before it is passed.
//   0: light on (1)   1: light on (5)   2: open (1)   3: pass (1)   4: close (1)
Task house() {
    return make_task({2, 2, 2}, {0, 0, 0}, {{0, 1}},
                     {{"cheap", {}, {{{}, {0, 1}}}, 1},
                      {"expensive", {}, {{{}, {0, 1}}}, 5},
                      step(1, 0, 1),
                      {"pass", {{1, 1}}, {{{}, {2, 1}}}, 1},
                      step(1, 1, 0)});
}

void test_elimination_by_hand() {
    const Task task = house();
    const SuccessorGenerator generator(task);
    const int start[] = {0, 0, 0};
    const auto first = [&](const Plan &plan) { return eliminate(generator, start, plan, Elimination::first); };
    const auto greedy = [&](const Plan &plan) { return eliminate(generator, start, plan, Elimination::greedy); };
    // Either switch can be removed, but not both: `first` removes the first one, `greedy` the more expensive one.
    CHECK(first({0, 1}) == (Plan{1}));
    CHECK(greedy({0, 1}) == (Plan{0}));
    CHECK(best_elimination(generator, start, Plan{0, 1}) == (Plan{0}));
    CHECK(best_elimination(generator, start, Plan{1, 0}) == (Plan{0}));
    // Without opening, passing and closing do not apply, and all three go together.
    CHECK(first({2, 3, 4, 0}) == (Plan{0}));
    CHECK(greedy({2, 3, 4, 0}) == (Plan{0}));
    CHECK(first({0}) == (Plan{0}));
    const int done[] = {1, 0, 0};
    CHECK(best_elimination(generator, done, Plan{0, 2}).empty());
    CHECK(best_elimination(generator, done, Plan{}).empty());
    // If a limit is reached at once, nothing is removed.
    Limits limits;
    limits.expansions = 0;
    CHECK(eliminate(generator, start, Plan{2, 3, 4, 0}, Elimination::greedy, limits) == (Plan{2, 3, 4, 0}));
    // For a long plan only `first` is used.
    Plan longer{0, 1};
    for (int i = 0; i < 150; ++i) longer.insert(longer.end(), {2, 4});
    CHECK(best_elimination(generator, start, longer) == (Plan{1}));
}

// What is left without step i, and whether it ends in a goal; on plain states, from the start.
bool without(const Task &task, const std::vector<int> &start, const Plan &plan, std::size_t i, Plan &rest) {
    std::vector<int> state = start;
    rest.clear();
    for (std::size_t j = 0; j < plan.size(); ++j) {
        if (j == i || !task.applicable(plan[j], state.data())) continue;
        task.apply(plan[j], state.data(), state.data());
        rest.push_back(plan[j]);
    }
    return task.is_goal(state.data());
}

Plan naive_first(const Task &task, const std::vector<int> &start, Plan plan) {
    Plan rest;
    for (std::size_t i = 0; i < plan.size();) {
        if (without(task, start, plan, i, rest)) {
            plan = rest;
        } else {
            ++i;
        }
    }
    return plan;
}

Plan naive_greedy(const Task &task, const std::vector<int> &start, Plan plan) {
    while (true) {
        Plan best = plan, rest;
        const auto key = [&](const Plan &p) { return std::pair(cost_of(task, p), p.size()); };
        for (std::size_t i = 0; i < plan.size(); ++i)
            if (without(task, start, plan, i, rest) && key(rest) < key(best)) best = rest;
        if (best.size() == plan.size()) return plan;
        plan = best;
    }
}

// Random walks that end in a goal.
template <class Use>
void for_random_plans(Use &&use) {
    int plans = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Task task = random_task({3, 2, 3, 2}, 10, seed, seed % 2 == 1);
        const SuccessorGenerator generator(task);
        CounterRandom random(seed, 7);
        for (int walk = 0; walk < 5; ++walk) {
            const std::vector<int> start = random_state({3, 2, 3, 2}, random);
            std::vector<int> state = start;
            std::vector<OperatorId> operators;
            Plan plan;
            while (plan.size() < 25 && (plan.size() < 8 || !task.is_goal(state.data()))) {
                generator.applicable(state.data(), operators);
                if (operators.empty()) break;
                plan.push_back(operators[random.below(operators.size())]);
                task.apply(plan.back(), state.data(), state.data());
            }
            if (!task.is_goal(state.data())) continue;
            ++plans;
            use(task, generator, start, plan);
        }
    }
    CHECK(plans > 50);
}

void test_elimination_of_random_plans() {
    int shorter = 0;
    for_random_plans(
        [&](const Task &task, const SuccessorGenerator &generator, const std::vector<int> &start, const Plan &plan) {
            const Plan first = eliminate(generator, start.data(), plan, Elimination::first);
            const Plan greedy = eliminate(generator, start.data(), plan, Elimination::greedy);
            CHECK(first == naive_first(task, start, plan));
            CHECK(greedy == naive_greedy(task, start, plan));
            const Cost best = cost_of(task, best_elimination(generator, start.data(), plan));
            CHECK_EQUAL(best, std::min(cost_of(task, first), cost_of(task, greedy)));
            CHECK_EQUAL(replay(task, start.data(), first), cost_of(task, first));
            shorter += first.size() < plan.size();
        });
    CHECK(shorter > 20);
}

// From 0 to the goal 4: a detour by 1 and 2 for 10, or by 3 for 5. No step of the detour can be left out.
struct Detour {
    Task task = make_task({5}, {0}, {{0, 4}},
                          {step(0, 0, 1, 2), step(0, 1, 2, 3), step(0, 2, 4, 5), step(0, 0, 3, 1), step(0, 3, 4, 4)});
    SuccessorGenerator generator{task};
    BoundStore store{generator};
    int start = 0;
    ArasResult improve(const ArasOptions &options, const Plan &plan = {0, 1, 2}) {
        return aras(store, &start, plan, options, {});
    }
};

void test_aras_by_hand() {
    Detour detour;
    CHECK(eliminate(detour.generator, &detour.start, Plan{0, 1, 2}, Elimination::greedy) == (Plan{0, 1, 2}));
    const ArasResult closed = detour.improve({});
    CHECK(closed.status == ArasStatus::closed && closed.limit == Limit::none);
    CHECK(closed.plan == (Plan{3, 4}));
    CHECK_EQUAL(closed.cost, 5);
    CHECK_EQUAL(closed.initial_cost, 10);
    CHECK_EQUAL(closed.iterations, 1U);
    CHECK_EQUAL(detour.store.lower_bounds().cost(detour.store.add(&detour.start)), 5);  // the cost is proven optimal
    CHECK_EQUAL(detour.improve({}).iterations, 0U);  // the store is complete

    ArasOptions options;
    options.stop_below = 11;
    Detour below;
    CHECK(below.improve(options).status == ArasStatus::below);
    options.stop_below = 10;  // the given plan is not below 10, so another one has to be found
    Detour better;
    const ArasResult found = better.improve(options);
    CHECK(found.status == ArasStatus::below && found.cost == 5);
    options = {};
    options.iterations = 0;
    Detour no_iteration;
    const ArasResult limited = no_iteration.improve(options);
    CHECK(limited.status == ArasStatus::limit && limited.limit == Limit::iterations);
    CHECK(limited.plan == (Plan{0, 1, 2}) && limited.cost == 10);
    options = {};
    options.generated = 1;
    Detour generated;
    CHECK(generated.improve(options).limit == Limit::generated);

    Detour wrong;
    for (const Plan &plan : {Plan{0, 1}, Plan{0, 2}, Plan{7}}) CHECK_THROWS(wrong.improve({}, plan), InvalidPlan);
    CHECK_EQUAL(wrong.store.transitions().size(), 0U);
}

// Without a limit Aras finds a cheapest plan; with a limit, a plan that is no worse than the given one. All calls use one store.
void test_aras_on_random_plans() {
    int better = 0;
    for_random_plans(
        [&](const Task &task, const SuccessorGenerator &generator, const std::vector<int> &start, const Plan &plan) {
            const AllStates all(task);
            BoundStore store(generator);
            for (const bool with_elimination : {true, false}) {
                ArasOptions options;
                options.growth = 3;
                options.eliminate = with_elimination;
                options.generated = 20;
                const ArasResult cut = aras(store, start.data(), plan, options, {});
                CHECK(cut.cost <= cut.initial_cost && replay(task, start.data(), cut.plan) == cut.cost);
                CHECK(cut.status != ArasStatus::closed || cut.cost == all.distance(start));
            }
            ArasOptions options;
            options.growth = 3;
            const ArasResult result = aras(store, start.data(), plan, options, {});
            CHECK(result.status == ArasStatus::closed);
            CHECK_EQUAL(result.cost, all.distance(start));
            CHECK_EQUAL(replay(task, start.data(), result.plan), result.cost);
            better += result.cost < result.initial_cost;
        });
    CHECK(better > 20);
}

}  // namespace

int main() {
    test_elimination_by_hand();
    test_elimination_of_random_plans();
    test_aras_by_hand();
    test_aras_on_random_plans();
    return misstep::test::result();
}
