#include <memory>

#include "check.h"
#include "heuristics/lmcut.h"
#include "heuristics/relaxation_heuristics.h"
#include "search/astar.h"
#include "search/ehc.h"
#include "search/gbfs.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

void check_plan(const Task &task, const SearchResult &result) {
    std::vector<int> state(task.initial().begin(), task.initial().end());
    Cost cost = 0;
    for (OperatorId op : result.plan) {
        CHECK(task.applicable(op, state.data()));
        task.apply(op, state.data(), state.data());
        cost += task.cost(op);
    }
    CHECK(task.is_goal(state.data()));
    CHECK_EQUAL(result.cost, cost);
}

void check_astar(const Task &task, Heuristic *heuristic, Cost distance) {
    const SuccessorGenerator generator(task);
    const int *start = task.initial().data();
    const SearchResult whole = AStar(generator, heuristic, start).run({});
    CHECK(whole.status == (distance == INFINITE_COST ? Status::exhausted : Status::plan));
    CHECK_EQUAL(whole.lower_bound, distance);
    if (whole.status == Status::plan) {
        check_plan(task, whole);
        CHECK_EQUAL(whole.cost, distance);
        // Only plans that are cheaper than the bound are searched for.
        const SearchResult none = AStar(generator, heuristic, start, distance).run({});
        CHECK(none.status == Status::exhausted && none.lower_bound >= distance);
        const SearchResult one = AStar(generator, heuristic, start, distance + 1).run({});
        CHECK(one.status == Status::plan && one.cost == distance);
    }
    // A search that is stopped after every expansion and continued does the same work.
    AStar resumed(generator, heuristic, start);
    SearchResult part;
    Limits limits;
    Cost bound = 0;
    for (limits.expansions = 0; (part = resumed.run(limits)).status == Status::limit; ++limits.expansions) {
        CHECK(part.limit == Limit::expansions && part.lower_bound >= bound && part.lower_bound <= distance);
        bound = part.lower_bound;
        if (limits.expansions > 10'000) break;
    }
    CHECK(part.status == whole.status && part.plan == whole.plan);
    CHECK_EQUAL(part.progress.expansions, whole.progress.expansions);
}

void test_random_tasks() {
    int solvable = 0, longest = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Task task = random_task({3, 2, 3, 2, 3}, 10, seed);
        const Cost distance = AllStates(task).distance({task.initial().begin(), task.initial().end()});
        solvable += distance < INFINITE_COST;
        LMCut lmcut(task);
        check_astar(task, nullptr, distance);
        check_astar(task, &lmcut, distance);

        const SuccessorGenerator generator(task);
        HFF hff(std::make_shared<const RelaxedTask>(task));
        const SearchResult greedy = GreedyBestFirst(generator, hff, task.initial().data()).run({});
        CHECK((greedy.status == Status::plan) == (distance < INFINITE_COST));
        if (greedy.status == Status::plan) {
            check_plan(task, greedy);
            longest = std::max(longest, static_cast<int>(greedy.plan.size()));
        } else {
            CHECK_EQUAL(greedy.lower_bound, INFINITE_COST);
        }
        for (const bool helpful : {false, true})
            for (const bool by_cost : {false, true}) {
                const SearchResult climbed =
                    EnforcedHillClimbing(generator, hff, task.initial().data(), {helpful, by_cost}).run({});
                if (climbed.status == Status::plan) check_plan(task, climbed);
                CHECK(climbed.lower_bound <= distance);
            }
    }
    CHECK(solvable > 10 && solvable < 60 && longest > 2);
}

// A heuristic that is admissible but not consistent: the cheap path to b is found after b was expanded.
void test_reopening() {
    struct Inconsistent : Heuristic {
        Cost evaluate(const int *values) override { return values[0] == 1 ? 4 : 0; }
        std::size_t bytes() const override { return 0; }
    } heuristic;
    const Task task =
        make_task({4}, {0}, {{0, 3}}, {step(0, 0, 1, 1), step(0, 0, 2, 4), step(0, 1, 2, 1), step(0, 2, 3, 4)});
    const SuccessorGenerator generator(task);
    const SearchResult result = AStar(generator, &heuristic, task.initial().data()).run({});
    CHECK_EQUAL(result.cost, 6);
    CHECK((result.plan == std::vector<OperatorId>{0, 2, 3}));
    CHECK(result.progress.expansions >= 4);
}

void test_goal_at_the_start() {
    const Task task = make_task({2}, {1}, {{0, 1}}, {step(0, 0, 1)});
    const SuccessorGenerator generator(task);
    const SearchResult result = AStar(generator, nullptr, task.initial().data()).run({});
    CHECK(result.status == Status::plan && result.plan.empty() && result.cost == 0);
}

}  // namespace

int main() {
    test_random_tasks();
    test_reopening();
    test_goal_at_the_start();
    return misstep::test::result();
}
