#include <algorithm>
#include <memory>

#include "check.h"
#include "heuristics/fact_queue.h"
#include "heuristics/lmcut.h"
#include "heuristics/lmcut_queue.h"
#include "heuristics/naive_ff.h"
#include "heuristics/naive_lmcut.h"
#include "heuristics/relaxation_heuristics.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

// Every cut is a landmark, no operator is charged more than it costs, and the value is the sum, at most h* and at least hmax.
void check_lmcut(const Task &task, const AllStates &all, LMCut &heuristic, const std::vector<int> &state) {
    std::vector<Cost> left(task.costs().begin(), task.costs().end());
    Cost sum = 0;
    const Cost value =
        heuristic.evaluate_with_cuts(state.data(), [&](std::span<const OperatorId> operators, Cost charged) {
            CHECK(std::is_sorted(operators.begin(), operators.end()));
            CHECK(naive::is_landmark(task, operators, task.goal(), state.data()));
            for (OperatorId op : operators) CHECK((left[op] -= charged) >= 0);
            CHECK(charged > 0);
            sum += charged;
        });
    const Cost highest =
        naive::hmax(task, {task.costs().begin(), task.costs().end()}, task.goal(), state.data()).back();
    CHECK((value == INFINITE_COST) == (highest == INFINITE_COST));
    CHECK_EQUAL(heuristic.evaluate(state.data()), value);
    CHECK(value <= all.distance(state));
    if (value == INFINITE_COST) return;
    CHECK_EQUAL(value, sum);
    CHECK(value >= highest);
    Cost twin = 0;
    for (const naive::Cut &cut : naive::lmcut(task, task.goal(), state.data())) twin += cut.charged;
    CHECK((twin == 0) == (value == 0));  // other supporters may give other values, so only this can be compared
    for (const Cost bound : {Cost{1}, value, value + 1})
        CHECK(heuristic.evaluate(state.data(), bound) >= std::min(value, bound));
}

void check_relaxation(const Task &task, HMax &hmax, HAdd &hadd, HFF &hff, const std::vector<int> &state) {
    const auto expected = [&](bool additive) {
        const std::vector<Cost> costs = naive::relaxed_costs(task, state.data(), additive);
        Cost result = 0;
        for (const Fact &fact : task.goal()) {
            const Cost cost = costs[task.fact_id(fact)];
            if (cost == INFINITE_COST) return INFINITE_COST;
            result = additive ? result + cost : std::max(result, cost);
        }
        return result;
    };
    CHECK_EQUAL(hmax.evaluate(state.data()), expected(false));
    CHECK_EQUAL(hadd.evaluate(state.data()), expected(true));
    const Cost plan = hff.evaluate(state.data());
    CHECK((plan == INFINITE_COST) == (expected(true) == INFINITE_COST));
    CHECK(plan <= expected(true) && plan >= expected(false));
    for (OperatorId op : hff.helpful()) CHECK(task.applicable(op, state.data()));
}

void test_random_tasks() {
    int dead = 0, alive = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const Task task = random_task({2, 3, 2, 3, 2}, 9, seed);
        const AllStates all(task);
        const auto relaxed = std::make_shared<const RelaxedTask>(task);
        LMCut lmcut(task);
        HMax hmax(relaxed);
        HAdd hadd(relaxed);
        HFF hff(relaxed);
        for (int i = 0; i < all.count(); i += 5) {
            const std::vector<int> state = all.state(i);
            ++(lmcut.evaluate(state.data()) == INFINITE_COST ? dead : alive);
            check_lmcut(task, all, lmcut, state);
            check_relaxation(task, hmax, hadd, hff, state);
        }
    }
    CHECK(dead > 50 && alive > 50);
}

// Two packages of cost 3 each, and one operator that both need: the sum of the landmarks is the true cost.
void test_by_hand() {
    const Task task =
        make_task({2, 2, 2}, {0, 0, 0}, {{1, 1}, {2, 1}},
                  {step(0, 0, 1, 5), {"a", {{0, 1}}, {{{}, {1, 1}}}, 3}, {"b", {{0, 1}}, {{{}, {2, 1}}}, 3}});
    LMCut lmcut(task);
    const auto relaxed = std::make_shared<const RelaxedTask>(task);
    CHECK_EQUAL(lmcut.evaluate(task.initial().data()), 11);
    CHECK_EQUAL(HMax(relaxed).evaluate(task.initial().data()), 8);
    CHECK_EQUAL(HAdd(relaxed).evaluate(task.initial().data()), 16);
    CHECK_EQUAL(HFF(relaxed).evaluate(task.initial().data()), 11);
    lmcut.set_goal(std::vector<Fact>{{0, 1}});
    CHECK_EQUAL(lmcut.evaluate(task.initial().data()), 5);
    const std::vector<int> there{1, 0, 0};
    CHECK_EQUAL(lmcut.evaluate(there.data()), 0);
}

// Chains whose costs are far beyond the buckets of the queues.
void test_large_costs() {
    std::vector<Task::RawOperator> chain;
    for (int i = 0; i + 1 < 20; ++i) chain.push_back(step(0, i, i + 1, i % 2 == 0 ? 4096 : 100'000));
    const Task task = make_task({20}, {0}, {{0, 19}}, chain);
    const Cost expected = 10 * 4096 + 9 * 100'000;
    LMCut lmcut(task);
    const auto relaxed = std::make_shared<const RelaxedTask>(task);
    CHECK_EQUAL(lmcut.evaluate(task.initial().data()), expected);
    CHECK_EQUAL(HMax(relaxed).evaluate(task.initial().data()), expected);
    CHECK_EQUAL(HAdd(relaxed).evaluate(task.initial().data()), expected);
}

void test_lmcut_queue() {
    LMCutQueue queue;
    CounterRandom random(3);
    for (int round = 0; round < 3; ++round) {
        std::vector<std::uint32_t> values{0, 63, 64, 4095, 4096, 4097, 0xffffffff};
        for (int i = 0; i < 500; ++i) values.push_back(static_cast<std::uint32_t>(random.below(10'000)));
        for (std::size_t i = 0; i < values.size(); ++i) queue.push(values[i], static_cast<std::uint32_t>(i));
        if (round == 1) {
            queue.clear();
            CHECK(queue.empty());
            continue;
        }
        std::vector<std::uint32_t> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        for (std::uint32_t expected : sorted) {
            const auto [value, fact] = queue.pop();
            CHECK_EQUAL(value, expected);
            CHECK_EQUAL(values[fact], value);
        }
        CHECK(queue.empty());
    }
}

void test_fact_queue() {
    FactQueue queue(100);
    CHECK_EQUAL(queue.next_bucket(0), FactQueue::BUCKETS);
    for (const std::uint32_t cost : {FactQueue::BUCKETS - 1, 64U, 63U, 64U})
        queue.push_bucket(cost, static_cast<std::int32_t>(cost));
    CHECK_EQUAL(queue.next_bucket(0), 63U);
    CHECK_EQUAL(queue.next_bucket(64), 64U);
    const FactQueue::Entry *entry = queue.take_bucket(64);
    queue.push_bucket(64, 7);  // belongs to a later round
    CHECK_EQUAL(entry->fact, 64);
    entry = queue.next(entry);
    CHECK(entry != nullptr && entry->fact == 64 && queue.next(entry) == nullptr);
    entry = queue.take_bucket(64);
    CHECK(entry->fact == 7 && queue.next(entry) == nullptr);
    CHECK_EQUAL(queue.next_bucket(64), FactQueue::BUCKETS - 1);
    queue.clear();
    CHECK_EQUAL(queue.next_bucket(0), FactQueue::BUCKETS);
    for (const std::uint64_t key : {9, 3, 7}) queue.push_heap(key, static_cast<std::int32_t>(key));
    for (const std::int32_t fact : {3, 7, 9}) CHECK_EQUAL(queue.pop_heap(), fact);
    CHECK(queue.heap_empty());
}

}  // namespace

int main() {
    test_by_hand();
    test_random_tasks();
    test_large_costs();
    test_lmcut_queue();
    test_fact_queue();
    return misstep::test::result();
}
