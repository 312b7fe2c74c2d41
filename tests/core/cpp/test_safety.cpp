#include <algorithm>
#include <memory>

#include "check.h"
#include "safety/arena.h"
#include "safety/closure.h"
#include "safety/explicit_transitions.h"
#include "safety/fuzzer.h"
#include "safety/make_decider.h"
#include "safety/policies.h"
#include "safety/sparing_proof.h"
#include "safety/stamps.h"
#include "safety/tarjan_safe.h"

using namespace misstep;
using namespace misstep::safety;

namespace {

constexpr const char *KINDS[] = {"localfix", "tarjan", "lrtdp", "lao", "vi", "ipi"};

// For each state the outcomes of label 0, label 1 and so on.
using Edges = std::vector<std::vector<std::vector<StateId>>>;

std::shared_ptr<ExplicitTransitions> make_transitions(const Edges &edges, std::vector<StateId> unsafe,
                                                      std::vector<StateId> goals = {}) {
    Tables tables;
    tables.flags.assign(edges.size(), PLAIN);
    for (StateId id : unsafe) tables.flags[id] |= UNSAFE;
    for (StateId id : goals) tables.flags[id] |= GOAL;
    tables.actions = {0};
    tables.offsets = {0};
    for (const auto &labels : edges) {
        for (std::size_t label = 0; label < labels.size(); ++label) {
            tables.labels.push_back(static_cast<LabelId>(label));
            tables.outcomes.insert(tables.outcomes.end(), labels[label].begin(), labels[label].end());
            tables.offsets.push_back(static_cast<std::uint32_t>(tables.outcomes.size()));
        }
        tables.actions.push_back(static_cast<std::uint32_t>(tables.labels.size()));
    }
    tables.initial = {0};
    return std::make_shared<ExplicitTransitions>(tables);
}

// The policy takes label 0 everywhere. State 4 is unsafe, 5 a goal, 6 a dead end.
//   0: {1, 2} or 3     safe only by 3, as 2 can be forced into 4
//   1: 0               a cycle with 0
//   2: {5, 4} or {4}   lost
//   3: 4 or {3, 6}     stays or ends: safe by a deviation each time, so within no radius
//   7: 2 or 8          one deviation
//   8: 5
//   9: 7 or 2          the policy goes on to 7: one deviation
const Edges GRAPH{{{1, 2}, {3}}, {{0}}, {{5, 4}, {4}}, {{4}, {3, 6}}, {}, {}, {}, {{2}, {8}}, {{5}}, {{7}, {2}}};

void test_by_hand() {
    for (const char *kind : KINDS)
        for (const bool backwards : {false, true}) {
            System system(make_transitions(GRAPH, {4}, {5}), std::make_shared<FirstLabel>());
            const std::unique_ptr<Decider> decider = make_decider(kind, system, 1);
            const auto decide = [&](StateId id, Radius radius) { return decider->decide(id, radius, {}).answer; };
            for (StateId i = 0; i < 10; ++i) {
                const StateId id = backwards ? 9 - i : i;
                CHECK((decide(id, UNBOUNDED) == Answer::not_safe) == (id == 2 || id == 4));
                CHECK((decide(id, 0) == Answer::safe) == (id == 5 || id == 6 || id == 8));
                CHECK((decide(id, 1) == Answer::safe) == (id >= 5));
                CHECK((decide(id, 5) == Answer::safe) == (id >= 5));
            }
            Decision decision;
            CHECK_EQUAL(decider->smallest_radius(7, 10, {}, decision), 1U);
            CHECK_EQUAL(decider->smallest_radius(3, 10, {}, decision), UNBOUNDED);
            CHECK_EQUAL(decider->smallest_radius(2, 10, {}, decision), NOT_KNOWN);
            CHECK(decision.answer == Answer::not_safe);
            const std::vector<Step> strategy = decider->strategy(0, UNBOUNDED);
            CHECK_EQUAL(strategy.size(), 2U);
            for (const Step &step : strategy) CHECK((step.state == 0 || step.state == 3) && step.label == 1);
            CHECK_THROWS(decider->strategy(2, UNBOUNDED), std::invalid_argument);
        }
    System system(make_transitions(GRAPH, {4}, {5}));
    CHECK(make_decider("no such decider", system, 1) == nullptr);
}

// Two states of which each relies on the other while they are in progress: 0 -> 1 -> {0, 2}, and 2 fails. A decider that
// keeps the assumption after the failure calls them safe.
void test_assumptions_that_fail() {
    for (const char *kind : KINDS) {
        System system(make_transitions({{{1}}, {{0, 2}}, {{3}}, {}}, {3}));
        const std::unique_ptr<Decider> decider = make_decider(kind, system, 1);
        for (StateId id : {0, 1, 2}) CHECK(decider->decide(id, UNBOUNDED, {}).answer == Answer::not_safe);
    }
    // The same with a cycle of three states, 0 -> {1, 3}, 1 -> 2 -> 0: 1 is not the root of its component, and not safe.
    for (const char *kind : KINDS) {
        System system(make_transitions({{{1, 3}}, {{2}}, {{0}}, {{4}}, {}}, {4}));
        const std::unique_ptr<Decider> decider = make_decider(kind, system, 1);
        for (StateId id : {0, 1, 2, 3}) CHECK(decider->decide(id, UNBOUNDED, {}).answer == Answer::not_safe);
    }
    // A whole component that is safe, found by its root.
    System system(make_transitions({{{1}}, {{2}}, {{0, 1}}}, {}));
    TarjanSafe tarjan(system);
    CHECK(tarjan.decide(0, UNBOUNDED, {}).answer == Answer::safe);
    for (StateId id : {0, 1, 2}) CHECK(tarjan.known(id, UNBOUNDED) == Answer::safe);
}

// After a limit only proven facts are kept, and a later question finds the answer.
void test_limits() {
    Edges chain;  // i -> {i + 1, 0}; the last one is unsafe
    for (StateId i = 0; i < 50; ++i) chain.push_back({{i + 1, 0}});
    chain.push_back({});
    for (const char *kind : KINDS) {
        System system(make_transitions(chain, {50}));
        const std::unique_ptr<Decider> decider = make_decider(kind, system, 1);
        Limits limits;
        for (limits.evaluations = 0; limits.evaluations < 40; limits.evaluations += 10) {
            const Decision decision = decider->decide(0, UNBOUNDED, limits);
            CHECK(decision.answer == Answer::unknown && decision.limit == Limit::evaluations);
            for (StateId id = 0; id < 50; ++id) CHECK(decider->known(id, UNBOUNDED) != Answer::safe);
        }
        CHECK(decider->decide(0, UNBOUNDED, {}).answer == Answer::not_safe);
    }
}

// The truth by plain iteration: the greatest set of states with a label that leads only into the set, and the least number of
// deviations.
void test_random_graphs() {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CounterRandom random(seed);
        constexpr StateId COUNT = 14;
        Edges edges(COUNT);
        for (StateId id = 0; id < COUNT; ++id)
            for (std::uint64_t label = random.below(4); label > 0; --label) {
                edges[id].emplace_back();
                for (std::uint64_t n = 1 + random.below(2); n > 0; --n)
                    edges[id].back().push_back(static_cast<StateId>(random.below(COUNT)));
            }
        const std::vector<StateId> unsafe{static_cast<StateId>(random.below(COUNT)),
                                          static_cast<StateId>(random.below(COUNT))};
        const auto is_unsafe = [&](StateId id) { return std::find(unsafe.begin(), unsafe.end(), id) != unsafe.end(); };
        std::vector<char> safe(COUNT, 1);
        for (bool changed = true; changed;) {
            changed = false;
            for (StateId id = 0; id < COUNT; ++id) {
                bool can = !is_unsafe(id) && edges[id].empty();
                for (const auto &outcomes : edges[id])
                    can = can || (!is_unsafe(id) && std::all_of(outcomes.begin(), outcomes.end(),
                                                                [&](StateId t) { return safe[t] != 0; }));
                if (safe[id] && !can) {
                    safe[id] = 0;
                    changed = true;
                }
            }
        }
        // J from below: the least solution. Deviations cost one, the policy takes label 0.
        constexpr Radius ENOUGH = 4;
        std::vector<Radius> least(COUNT, 0);
        for (bool changed = true; changed;) {
            changed = false;
            for (StateId id = 0; id < COUNT; ++id) {
                Radius best = is_unsafe(id) ? ENOUGH : edges[id].empty() ? 0 : ENOUGH;
                for (std::size_t label = 0; label < edges[id].size() && !is_unsafe(id); ++label) {
                    Radius worst = 0;
                    for (StateId t : edges[id][label]) worst = std::max(worst, least[t]);
                    best = std::min(best, worst + (label == 0 ? 0 : 1));
                }
                if (best > least[id]) {
                    least[id] = best;
                    changed = true;
                }
            }
        }
        for (const char *kind : KINDS) {
            System system(make_transitions(edges, unsafe), std::make_shared<FirstLabel>());
            const std::unique_ptr<Decider> decider = make_decider(kind, system, seed);
            for (int i = 0; i < 60; ++i) {
                const auto id = static_cast<StateId>(random.below(COUNT));
                const Radius radius = random.below(2) ? UNBOUNDED : static_cast<Radius>(random.below(ENOUGH));
                const bool expected = radius == UNBOUNDED ? safe[id] != 0 : least[id] <= radius;
                CHECK((decider->decide(id, radius, {}).answer == Answer::safe) == expected);
            }
        }
    }
}

void test_tables_that_do_not_fit() {
    Tables tables{{PLAIN}, {0, 1}, {0}, {0, 1}, {0}, {0}, {}};
    CHECK_EQUAL(ExplicitTransitions(tables).size(), 1U);
    Tables outcome = tables, offsets = tables, actions = tables, distances = tables;
    outcome.outcomes = {1};
    offsets.offsets = {0, 2};
    actions.actions = {0, 2};
    distances.distances = {1, 1};
    for (const Tables &bad : {outcome, offsets, actions, distances})
        CHECK_THROWS(ExplicitTransitions(bad), std::invalid_argument);
}

void test_containers() {
    Stamps stamps;
    CHECK(!stamps.contains(1'000'000));
    CHECK(stamps.insert(3) && !stamps.insert(3) && stamps.insert(70'000) && stamps.contains(3));
    stamps.erase(3);
    CHECK(!stamps.contains(3) && stamps.contains(70'000));
    stamps.clear();
    CHECK(!stamps.contains(70'000) && stamps.insert(70'000));

    PerState<int> numbers(-1);
    CHECK_EQUAL(numbers[5], -1);
    numbers.at(500) = 7;
    CHECK(numbers[500] == 7 && numbers[499] == -1 && numbers[100'000] == -1);

    Arena arena;
    std::vector<std::uint32_t *> records;
    for (std::uint32_t i = 0; i < 3'000; ++i) {
        records.push_back(arena.allocate(1 + i % 40));
        records.back()[i % 40] = i;  // the last word of each
    }
    arena.allocate(100'000)[99'999] = 1;  // more than a block
    for (std::uint32_t i = 0; i < 3'000; ++i) CHECK_EQUAL(records[i][i % 40], i);

    const std::uint32_t order[] = {2, 0, 1};
    for (std::uint32_t i = 0; i < 3; ++i) {
        CHECK_EQUAL(Ranking::declared()[i], i);
        CHECK_EQUAL(Ranking::listed(order)[i], order[i]);
    }
    const Ranking first = Ranking::first(2);
    CHECK(first[0] == 2 && first[1] == 0 && first[2] == 1 && first[3] == 3);
}

// Label 0 leads from each of 0 to 4 to the next one, and label 1 stays; 5 is unsafe. 6 can only go to 5.
void test_proofs() {
    Edges edges;
    for (StateId s = 0; s < 5; ++s) edges.push_back({{s + 1}, {s}});
    edges.push_back({});
    edges.push_back({{5}});
    const auto transitions = make_transitions(edges, {5});
    const std::vector<StateId> starts{0, 2, 0};

    System careful(transitions, std::make_shared<LabelTable>(std::vector<LabelId>{0, 0, 0, 0, 1, -1, 0}));
    Closure safe(careful);
    safe.add_starts(starts);
    CHECK_EQUAL(safe.starts(), 2U);
    Limits few;
    few.expansions = 1;
    CHECK(safe.explore(few, true) == Limit::expansions);
    CHECK(!safe.complete());
    CHECK(safe.explore({}, true) == Limit::none);
    CHECK(safe.complete());
    CHECK_EQUAL(safe.states().size(), 5U);
    CHECK_EQUAL(safe.unsafe(), 0U);
    CHECK(safe.unsafe_starts().empty());
    SparingProof sparing(careful, starts);
    CHECK(sparing.run({}) == Limit::none);
    CHECK(sparing.end() == SparingProof::End::safe);
    std::vector<StateId> states;
    std::vector<LabelId> labels;
    sparing.certificate(states, labels);
    CHECK_EQUAL(states.size(), 5U);

    System reckless(transitions, std::make_shared<FirstLabel>());
    Closure bad(reckless);
    bad.add_starts(starts);
    CHECK(bad.explore({}, true) == Limit::none);
    CHECK(bad.unsafe_run() == std::vector<StateId>({2, 3, 4, 5}));
    CHECK(bad.explore({}, false) == Limit::none);
    CHECK_EQUAL(bad.unsafe_starts().size(), 2U);
    SparingProof found(reckless, starts);
    CHECK(found.run({}) == Limit::none);
    CHECK(found.end() == SparingProof::End::unsafe);
    CHECK_EQUAL(found.unsafe_run().back(), 5U);

    SparingProof lost(reckless, std::vector<StateId>{0, 6});
    CHECK(lost.explore({}) == Limit::none);
    std::vector<std::uint32_t> ranks;
    states.clear();
    lost.lost_certificate(states, ranks);
    CHECK(states == std::vector<StateId>({6, 5}));
    CHECK(ranks.size() == 2 && ranks[1] < ranks[0]);
}

// Every outcome of a label is equally likely.
class Uniform : public ExplicitTransitions {
   public:
    using ExplicitTransitions::ExplicitTransitions;
    bool has_probabilities() const override { return true; }
    void probabilities(StateId id, LabelId label, std::vector<StateId> &outcomes,
                       std::vector<double> &chances) override {
        outcomes.clear();
        ExplicitTransitions::outcomes(id, label, outcomes);
        chances.assign(outcomes.size(), 1.0 / static_cast<double>(outcomes.size()));
    }
};

// A fuzzer that follows the probabilities of the model follows the new policy after a change of policy: label 0 leads from 0
// to the unsafe state 1, label 1 to the goal 2.
void test_fuzzing_after_a_change_of_policy() {
    Tables tables;
    tables.flags = {PLAIN, UNSAFE, GOAL};
    tables.actions = {0, 2, 2, 2};
    tables.labels = {0, 1};
    tables.offsets = {0, 1, 2};
    tables.outcomes = {1, 2};
    tables.initial = {0};
    System system(std::make_shared<Uniform>(tables), std::make_shared<FirstLabel>());
    FuzzRules rules;
    rules.select = Select::probable;
    Fuzzer fuzzer(system, rules);
    CounterRandom random(1);
    CHECK(fuzzer.run(0, random).states == (std::vector<StateId>{0, 1}));
    system.set_policy(std::make_shared<LabelTable>(std::vector<LabelId>{1}));
    CHECK(fuzzer.run(0, random).states == (std::vector<StateId>{0, 2}));
}

}  // namespace

int main() {
    test_by_hand();
    test_assumptions_that_fail();
    test_limits();
    test_random_graphs();
    test_tables_that_do_not_fit();
    test_containers();
    test_proofs();
    test_fuzzing_after_a_change_of_policy();
    return misstep::test::result();
}
