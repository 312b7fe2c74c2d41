#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "check.h"
#include "dominance/factoring.h"
#include "dominance/function.h"
#include "dominance/lookup.h"
#include "dominance/naive.h"
#include "dominance/simulation.h"
#include "dominance/table.h"
#include "dominance/triangle.h"
#include "dominance/value_queue.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::dominance;
using namespace misstep::test;

namespace {

// Two, four or eight bytes a pair, with the largest and smallest values that fit. The lowest number of each width stands for
// -infinity.
void test_table() {
    const std::vector<std::pair<std::int64_t, int>> widths{{32'767, 2},        {32'768, 4},        {-32'767, 2},
                                                           {-32'768, 4},       {2'147'483'647, 4}, {2'147'483'648, 8},
                                                           {-2'147'483'648, 8}};
    for (const auto &[value, bytes] : widths) {
        const Table table = Table::of<std::int64_t>(2, {0, value, MINUS_INFINITY, 0}, MINUS_INFINITY);
        CHECK_EQUAL(table.bytes_per_pair(), bytes);
        CHECK_EQUAL(table.at(0, 1), value);
        CHECK_EQUAL(table.at(1, 0), MINUS_INFINITY);
        CHECK_EQUAL(table.finite(), 3U);
        CHECK_EQUAL(table.magnitude(), value < 0 ? -value : value);
        std::string written;
        table.write(written);
        std::string_view rest = written;
        const std::optional<Table> read = Table::read(rest, 2);
        CHECK(read && rest.empty() && read->at(0, 1) == value && read->at(1, 0) == MINUS_INFINITY);
        for (std::size_t length = 0; length < written.size(); ++length) {
            std::string_view cut = std::string_view(written).substr(0, length);
            CHECK(!Table::read(cut, 2));
        }
        written[0] = 9;
        rest = written;
        CHECK(!Table::read(rest, 2));
    }
    const Table identity = Table::identity(3);
    CHECK_EQUAL(identity.bytes(), 0U);
    CHECK_EQUAL(identity.at(2, 2), 0);
    CHECK_EQUAL(identity.at(2, 1), MINUS_INFINITY);
    CHECK_EQUAL(identity.finite(), 3U);
    std::string_view claimed(std::string_view("\0", 1));  // the identity of any claimed size takes no memory
    CHECK_EQUAL(Table::read(claimed, 1 << 30)->at(7, 7), 0);
}

void test_triangle() {
    for (const Cost scale : {Cost{1}, Cost{1} << 30}) {  // both widths of the comparison
        const auto table = [&](Cost direct) {
            std::vector<std::int64_t> values{
                0, 2 * scale, direct, MINUS_INFINITY, 0, 3 * scale, MINUS_INFINITY, MINUS_INFINITY, 0};
            return Table::of<std::int64_t>(3, values, MINUS_INFINITY);
        };
        CHECK(satisfies_triangle(table(5 * scale), 1'000));
        CHECK(!satisfies_triangle(table(5 * scale - 1), 1'000));
        CHECK(!satisfies_triangle(table(MINUS_INFINITY), 1'000));
        CHECK(!satisfies_triangle(table(5 * scale), 10));  // too much work
    }
    CHECK(satisfies_triangle(Table::identity(5), 0));
}

void test_value_queue() {
    ValueQueue<std::int32_t> queue;
    CounterRandom random(6);
    for (int round = 0; round < 3; ++round) {
        queue.start(500);
        std::vector<std::int32_t> values{500, 500 - 1023, 500 - 1024, 500 - 1025, -100'000};
        for (int i = 0; i < 300; ++i) values.push_back(500 - static_cast<std::int32_t>(random.below(3'000)));
        for (std::size_t i = 0; i < values.size(); ++i) queue.push(values[i], static_cast<int>(i));
        std::int32_t value = 0, last = 500;
        int state = 0;
        std::size_t popped = 0;
        while (queue.pop(value, state)) {
            CHECK(value <= last && values[static_cast<std::size_t>(state)] == value);
            last = value;
            if (popped % 7 == 0 && popped < 100) {  // a new one at the value taken out last
                queue.push(value, static_cast<int>(values.size()));
                values.push_back(value);
            }
            ++popped;
        }
        CHECK_EQUAL(popped, values.size());
    }
}

// The tables are those of the naive version, and they are sound: D(s, t) <= h*(s) - h*(t).
void test_simulation() {
    int finite = 0;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        const Task task = random_task({3, 2, 3, 2}, 7, seed);
        const AllStates all(task);
        for (const bool merge : {false, true}) {
            Limit limit = Limit::none;
            FactoringOptions how;
            how.merge = merge;
            how.max_states = 6;  // so that there is more than one factor
            const Factoring factoring = make_factoring(task, how, {}, limit);
            if (!factoring.solvable) continue;
            const SimulationOptions options;
            const Simulation simulation = simulate(factoring, options, {});
            const dominance::naive::Reference twin(factoring, options);
            for (std::size_t i = 0; i < factoring.factors.size(); ++i) {
                const int size = factoring.factors[i].size;
                CHECK(simulation.factors[i].fallback == Fallback::none);
                for (int s = 0; s < size; ++s)
                    for (int t = 0; t < size; ++t)
                        CHECK_EQUAL(simulation.factors[i].table.at(s, t),
                                    twin.d[i][static_cast<std::size_t>(s * size + t)]);
            }
            const Function function({task.domain_sizes().begin(), task.domain_sizes().end()}, {simulation});
            const std::string written = function.write();
            const std::optional<Function> read = Function::read(written, function.domain_sizes());
            CHECK(read.has_value());
            CHECK(!Function::read(std::string_view(written).substr(0, written.size() - 1), function.domain_sizes()));
            for (int i = 0; i < all.count(); ++i)
                for (int j = 0; j < all.count(); ++j) {
                    const std::vector<int> s = all.state(i), t = all.state(j);
                    const Cost value = function.value(s.data(), t.data());
                    CHECK_EQUAL(read->value(s.data(), t.data()), value);
                    if (value == MINUS_INFINITY || all.distance(s) == INFINITE_COST) continue;
                    finite += i != j;
                    CHECK(all.distance(t) < INFINITE_COST && value <= all.distance(s) - all.distance(t));
                }
        }
    }
    CHECK(finite > 1'000);
}

// A lookup with an inner node whose variable is a negative number that becomes positive when it is converted to an int.
void test_lookup_of_a_strange_variable() {
    const std::vector<int> sizes{2, 2};
    std::vector<std::int64_t> numbers;
    Lookup::product(Lookup::leaf(0, 2), Lookup::leaf(1, 2), 2).write(numbers);
    std::span<const std::int64_t> rest(numbers);
    CHECK(Lookup::read(rest, sizes, 4).has_value());
    const std::size_t whole = 1 + 2 * (5 + 2);
    CHECK_EQUAL(numbers[whole], -1);
    for (std::int64_t variable :
         {std::numeric_limits<std::int64_t>::min(), -(std::int64_t{1} << 32) + 7, std::int64_t{-2}}) {
        numbers[whole] = variable;
        rest = numbers;
        CHECK(!Lookup::read(rest, sizes, 4).has_value());
    }
}

}  // namespace

int main() {
    test_lookup_of_a_strange_variable();
    test_table();
    test_triangle();
    test_value_queue();
    test_simulation();
    return misstep::test::result();
}
