#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "sketches/sets.h"
#include "sketches/sketch.h"
#include "tasks.h"

using namespace misstep;

namespace {

using P = SketchProgram;
using Pairs = std::set<std::pair<int, int>>;

// Converts sets of the standard library to bits and back.
template <int W>
struct Fixture {
    explicit Fixture(int n) : objects(n), words((n + 63) / 64), sets({n, words}) {}
    std::vector<std::uint64_t> bits(const std::set<int> &given) const {
        std::vector<std::uint64_t> result(words, 0);
        for (int i : given) result[i / 64] |= std::uint64_t{1} << (i % 64);
        return result;
    }
    std::vector<std::uint64_t> bits(const Pairs &given) const {
        std::vector<std::uint64_t> result(static_cast<std::size_t>(words) * objects, 0);
        for (auto [i, j] : given) result[i * words + j / 64] |= std::uint64_t{1} << (j % 64);
        return result;
    }
    int objects, words;
    Sets<W> sets;
};

template <int W>
void test_sets(int n) {
    Fixture<W> f(n);
    CounterRandom random(n);
    for (int round = 0; round < 20; ++round) {
        std::set<int> c, expected_not, expected_some, expected_all;
        Pairs r, inverse, closure, restricted;
        for (int i = 0; i < n; ++i)
            if (random.below(2)) c.insert(i);
        const std::uint64_t pairs = random.below(2 * n + 1);
        for (std::uint64_t k = 0; k < pairs; ++k) r.insert({random.below(n), random.below(n)});
        for (int i = 0; i < n; ++i) {
            if (!c.count(i)) expected_not.insert(i);
            expected_all.insert(i);
        }
        for (auto [i, j] : r) {
            inverse.insert({j, i});
            if (c.count(j)) expected_some.insert(i), restricted.insert({i, j});
            if (!c.count(j)) expected_all.erase(i);
        }
        // The objects that are reached from each object, step by step.
        for (int i = 0; i < n; ++i) {
            std::vector<int> open{i};
            while (!open.empty()) {
                const int at = open.back();
                open.pop_back();
                for (auto it = r.lower_bound({at, 0}); it != r.end() && it->first == at; ++it)
                    if (closure.insert({i, it->second}).second) open.push_back(it->second);
            }
        }
        const auto rb = f.bits(r), cb = f.bits(c);
        std::vector<std::uint64_t> one(f.words, ~0ULL), many(rb.size(), ~0ULL), scratch(3 * f.words);
        f.sets.complement(one.data(), cb.data());
        CHECK(one == f.bits(expected_not));
        f.sets.some(one.data(), rb.data(), cb.data());
        CHECK(one == f.bits(expected_some));
        f.sets.all(one.data(), rb.data(), cb.data());
        CHECK(one == f.bits(expected_all));
        f.sets.inverse(many.data(), rb.data());
        CHECK(many == f.bits(inverse));
        f.sets.closure(many.data(), rb.data());
        CHECK(many == f.bits(closure));
        f.sets.restrict_to(many.data(), rb.data(), cb.data());
        CHECK(many == f.bits(restricted));
        CHECK_EQUAL(f.sets.count(many.data(), many.size()), static_cast<std::int32_t>(restricted.size()));
        // A distance is finite and at least one exactly where the closure leads from one set to the other and they are disjoint.
        const int from = static_cast<int>(random.below(n)), to = static_cast<int>(random.below(n));
        const auto distance = f.sets.distance(f.bits({from}).data(), rb.data(), f.bits({to}).data(), scratch.data());
        CHECK_EQUAL(distance == 0, from == to);
        if (from != to) CHECK_EQUAL(distance == NO_WAY, closure.count({from, to}) == 0);
        if (from != to && r.count({from, to})) CHECK_EQUAL(distance, 1);
    }
}

// A counter from 0 to 3. The sketch decreases the number of objects that stand for the values still to be counted.
void test_rules() {
    const Task task = test::make_task(
        {4}, {0}, {{0, 3}}, {test::step(0, 0, 1), test::step(0, 1, 2), test::step(0, 2, 3), test::step(0, 2, 1)});
    P program;
    program.objects = 3;
    program.sets = {P::SetKind::objects};
    for (int value = 0; value < 3; ++value)
        for (int object = value; object < 3; ++object) program.sometimes.push_back({{0, value}, {0, 0, object}});
    program.features = {{P::FeatureCode::count, 0, 0, 0}};
    program.rules = {{{{P::Test::positive, 0}}, {{P::Test::decreased, 0}}}};
    Sketch first(program, task, Sketch::Choice::first), last(program, task, Sketch::Choice::last);
    const int two[] = {2}, three[] = {3};
    const std::vector<OperatorId> candidates{2, 3};
    CHECK_EQUAL(first.features(two)[0], 1);
    CHECK_EQUAL(first.choose(two, candidates), 2);
    CHECK_EQUAL(last.choose(two, candidates), 2);
    CHECK_EQUAL(first.choose(three, {}), NO_ACTION);
    std::vector<OperatorId> found;
    first.permitted(two, candidates, found);
    CHECK(found == std::vector<OperatorId>{2});

    const auto refused = [&](auto &&spoil) {
        P wrong = program;
        spoil(wrong);
        try {
            Sketch(wrong, task, Sketch::Choice::first);
        } catch (const std::invalid_argument &) {
            return true;
        }
        return false;
    };
    CHECK(!refused([](P &) {}));
    CHECK(refused([](P &p) { p.objects = -1; }));
    CHECK(refused([](P &p) { p.objects = 2; }));
    CHECK(refused([](P &p) { p.sometimes[0].fact.value = 4; }));
    CHECK(refused([](P &p) { p.always.push_back({1, 0, 0}); }));
    CHECK(refused([](P &p) { p.features[0].a = 1; }));
    CHECK(refused([](P &p) { p.features[0].code = P::FeatureCode::distance; }));
    CHECK(refused([](P &p) { p.rules[0].effects[0].feature = 1; }));
    CHECK(refused([](P &p) { p.rules[0].conditions[0].test = P::Test::increased; }));
    CHECK(refused([](P &p) { p.steps.push_back({P::StepCode::complement, 0, 0, 0}); }));
    CHECK(refused([](P &p) {
        p.sets.push_back(P::SetKind::pairs);
        p.steps.push_back({P::StepCode::complement, 1, 0, 0});
    }));
}

}  // namespace

int main() {
    for (int n : {1, 5, 63, 64}) test_sets<1>(n), test_sets<0>(n);
    for (int n : {65, 128}) test_sets<2>(n), test_sets<0>(n);
    test_sets<0>(130);
    test_rules();
    return misstep::test::result();
}
