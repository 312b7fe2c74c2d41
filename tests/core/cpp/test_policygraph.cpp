#include <string>

#include "check.h"
#include "policygraph/native_policies.h"
#include "policygraph/policy_graph.h"
#include "policygraph/runs.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

// A counter from 0 to 9 that can be set to any value; the goal is 9. Operator 10 * from + to costs `from`.
Task counter() {
    std::vector<Task::RawOperator> operators;
    for (int from = 0; from < 10; ++from)
        for (int to = 0; to < 10; ++to) operators.push_back(step(0, from, to, from));
    return make_task({10}, {0}, {{0, 9}}, operators);
}

struct Graph {
    // `to`: where the policy goes from each state; NO_ACTION or FAILED where it does not; UNASKED where it was not asked.
    explicit Graph(const std::vector<int> &to) : task(counter()), generator(task), graph(generator) {
        for (int value = 0; value < 10; ++value) CHECK_EQUAL(graph.add(&value), static_cast<StateId>(value));
        for (StateId id = 0; id < to.size(); ++id)
            if (to[id] != PolicyGraph::UNASKED)
                CHECK(graph.decide(id, to[id] < 0 ? to[id] : static_cast<int>(id) * 10 + to[id]));
    }
    void check(StateId id, Outcome outcome, std::uint32_t steps, Cost cost) {
        const RunEnd end = graph.end(id);
        CHECK(end.outcome == outcome);
        if (outcome == Outcome::open) return;
        CHECK_EQUAL(end.steps, steps);
        CHECK_EQUAL(end.cost, cost);
    }
    Task task;
    SuccessorGenerator generator;
    PolicyGraph graph;
};

// 0 -> 1 -> 2 -> 3 -> 1: a path into a loop of three. The steps of each state are counted up to the first state seen twice.
void test_loops() {
    for (const bool forwards : {true, false}) {
        Graph graph({1, 2, 3, 1, 9, 5});
        for (StateId i = 0; i < 6; ++i) graph.graph.end(forwards ? i : 5 - i);  // the order makes no difference
        graph.check(0, Outcome::loop, 4, 0 + 1 + 2 + 3);
        for (StateId id : {1, 2, 3}) graph.check(id, Outcome::loop, 3, 1 + 2 + 3);
        graph.check(4, Outcome::goal, 1, 4);
        graph.check(5, Outcome::loop, 1, 5);
        graph.check(9, Outcome::goal, 0, 0);
        graph.check(6, Outcome::open, 0, 0);
        CHECK(graph.graph.end(0, 3).outcome == Outcome::cut && graph.graph.end(0, 3).cost == 3);
        CHECK(graph.graph.end(0, 4).outcome == Outcome::loop);
        CHECK(graph.graph.end(4, 0).outcome == Outcome::cut);
    }
}

void test_ends_and_answers() {
    Graph graph({1, NO_ACTION, FAILED, 2, PolicyGraph::UNASKED, 4});
    graph.check(0, Outcome::stuck, 1, 0);
    graph.check(3, Outcome::error, 1, 3);
    graph.check(5, Outcome::open, 0, 0);
    CHECK(graph.graph.decide(4, 11));  // an operator of state 1
    graph.check(5, Outcome::inapplicable, 1, 5);
    // The first answer is kept.
    CHECK(graph.graph.decide(0, 1));
    CHECK(!graph.graph.decide(0, 2));
    CHECK_EQUAL(graph.graph.decision(0), 1);
    std::vector<StateId> predecessors;
    graph.graph.predecessors(4, predecessors);
    CHECK((predecessors == std::vector<StateId>{5}));
    CHECK(name(Outcome::inapplicable) == std::string("inapplicable"));
}

// Lockstep runs return each state that waits for a decision once in a round.
void test_lockstep() {
    Graph graph({});
    LockstepRuns runs(graph.graph, {0, 1, 0, 9}, 2);
    CHECK((runs.advance() == std::vector<StateId>{0, 1}));
    graph.graph.decide(0, 2);
    graph.graph.decide(1, 12);
    CHECK((runs.advance() == std::vector<StateId>{2}));
    graph.graph.decide(2, 23);
    CHECK(runs.advance().empty());  // cut after two steps, so the policy is not asked in state 3
    CHECK(!graph.graph.is_decided(3));
}

void test_native_policies() {
    const Task task = counter();
    const SuccessorGenerator generator(task);
    TablePolicy table(generator.packer());
    const int five = 5, six = 6;
    const std::vector<OperatorId> candidates{50, 51, 52};
    table.set(&five, 51);
    table.set(&five, 52);
    CHECK_EQUAL(table.choose(&five, candidates), 51);
    CHECK_EQUAL(table.choose(&six, candidates), NO_ACTION);
    CHECK_EQUAL(FirstPolicy().choose(&five, candidates), 50);
    CHECK_EQUAL(FirstPolicy().choose(&five, {}), NO_ACTION);
    // Noise is a function of the state, and has about the given frequency.
    int noisy = 0;
    const Noise noise(1, 0.3, 4);
    for (int value = 0; value < 10'000; ++value) {
        const OperatorId op = noise.choose(&value, candidates);
        CHECK_EQUAL(noise.choose(&value, candidates), op);
        noisy += op != NO_ACTION;
    }
    CHECK(noisy > 2'800 && noisy < 3'200);

    PolicyGraph graph(generator);
    FirstPolicy first;
    CHECK(run_native(graph, first, {graph.add(&five)}, 100, {}) == Limit::none);
    CHECK(graph.end(0).outcome == Outcome::loop);  // 5 -> 0 -> 0
    CHECK_EQUAL(graph.end(0).steps, 2U);
}

}  // namespace

int main() {
    test_loops();
    test_ends_and_answers();
    test_lockstep();
    test_native_policies();
    return misstep::test::result();
}
