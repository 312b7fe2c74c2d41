#include <limits>
#include <set>
#include <vector>

#include "check.h"
#include "fuzzing/novelty.h"
#include "fuzzing/select.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

// How often each weight is selected in 10,000 draws.
std::vector<int> draws(const std::vector<double> &weights, double uniform_share = 0) {
    CounterRandom random(11);
    std::vector<int> counts(weights.size());
    for (int i = 0; i < 10'000; ++i)
        ++counts.at(static_cast<std::size_t>(weighted_select(weights, random, uniform_share)));
    return counts;
}

bool about(int count, int expected) { return count > expected - 300 && count < expected + 300; }

void test_select() {
    CounterRandom random(1);
    CHECK_EQUAL(weighted_select({}, random), NOTHING_SELECTED);
    const std::vector<double> hopeless{-INF, -INF};
    CHECK_EQUAL(weighted_select(hopeless, random), NOTHING_SELECTED);
    CHECK_EQUAL(weighted_select(hopeless, random, 1), NOTHING_SELECTED);

    std::vector<int> counts = draws({1, 3, -INF, 0});
    CHECK(about(counts[0], 2'500) && about(counts[1], 7'500) && counts[2] == 0 && counts[3] == 0);
    counts = draws({-2, 0, 1});  // shifted up to 0, 2 and 3
    CHECK(counts[0] == 0 && about(counts[1], 4'000) && about(counts[2], 6'000));
    counts = draws({5, INF, -INF, INF});
    CHECK(counts[0] == 0 && about(counts[1], 5'000) && counts[2] == 0 && about(counts[3], 5'000));
    counts = draws({0, -INF, 0});
    CHECK(about(counts[0], 5'000) && counts[1] == 0 && about(counts[2], 5'000));
    counts = draws({-4, -4});
    CHECK(about(counts[0], 5'000) && about(counts[1], 5'000));
    counts = draws({0, 1, -INF}, 0.5);
    CHECK(about(counts[0], 2'500) && about(counts[1], 7'500) && counts[2] == 0);
}

// Both representations, bits and hash sets, agree with plain sets of tuples.
void test_novelty(const std::vector<int> &domains, int arity) {
    const Task task = random_task(domains, 1, 1);
    NoveltyStore bits(task, arity), sets(task, arity, 0);
    std::set<std::vector<Fact>> seen;
    const auto tuples = [&](const std::vector<int> &state) {
        std::vector<std::vector<Fact>> result;
        const int n = static_cast<int>(state.size());
        for (int v = 0; v < n; ++v) {
            if (arity == 1 || n == 1) result.push_back({{v, state[v]}});
            for (int w = v + 1; arity == 2 && w < n; ++w) result.push_back({{v, state[v]}, {w, state[w]}});
        }
        return result;
    };
    CounterRandom random(2);
    int novel = 0;
    for (int i = 0; i < 300; ++i) {
        const std::vector<int> state = random_state(domains, random);
        bool expected = false;
        for (const std::vector<Fact> &tuple : tuples(state)) expected = expected || !seen.contains(tuple);
        novel += expected;
        for (NoveltyStore *store : {&bits, &sets}) {
            CHECK(store->is_novel(state.data()) == expected);
            CHECK(store->is_novel(state.data()) == expected);  // a test changes nothing
        }
        if (i % 3 == 0) continue;
        for (const std::vector<Fact> &tuple : tuples(state)) seen.insert(tuple);
        for (NoveltyStore *store : {&bits, &sets}) {
            store->insert(state.data());
            CHECK_EQUAL(store->tuples(), seen.size());
        }
    }
    CHECK(novel > 1 && novel < 300);
}

}  // namespace

int main() {
    test_select();
    test_novelty({3, 2, 9, 1, 4}, 1);
    test_novelty({3, 2, 9, 1, 4}, 2);
    test_novelty({40}, 1);
    test_novelty({40}, 2);  // a task without pairs, where single facts count
    return misstep::test::result();
}
