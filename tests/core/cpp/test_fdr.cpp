#include <algorithm>
#include <set>

#include "check.h"
#include "fdr/batch.h"
#include "fdr/match_tree.h"
#include "fdr/naive.h"
#include "fdr/predecessors.h"
#include "fdr/sas_reader.h"
#include "fdr/state.h"
#include "fdr/successors.h"
#include "tasks.h"

using namespace misstep;
using namespace misstep::test;

namespace {

const std::string SAS = R"(begin_version
3
end_version
begin_metric
1
end_metric
2
begin_variable
var0
-1
3
Atom at(a)
Atom at(b)
Atom at(c)
end_variable
begin_variable
var1
-1
2
Atom lit()
NegatedAtom lit()
end_variable
1
begin_mutex_group
2
0 0
0 1
end_mutex_group
begin_state
0
1
end_state
begin_goal
2
0 2
1 0
end_goal
2
begin_operator
move a c
0
1
0 0 0 2
7
end_operator
begin_operator
light
1
0 2
1
1 0 0 1 1 0
1
end_operator
0
)";

std::string without_line(const std::string &text, std::size_t number) {
    std::size_t begin = 0;
    for (; number > 0; --number) begin = text.find('\n', begin) + 1;
    return text.substr(0, begin) + text.substr(text.find('\n', begin) + 1);
}

void test_sas_reader() {
    const Task task = read_sas(SAS);
    CHECK_EQUAL(task.variable_count(), 2);
    CHECK_EQUAL(task.operator_count(), 2);
    CHECK_EQUAL(task.cost(0), 7);
    CHECK(task.operator_name(0) == "move a c");
    CHECK_EQUAL(task.effect(1, 0).conditions.size(), 1U);
    CHECK(task.has_conditional_effects());
    CHECK_EQUAL(task.mutex_groups().size(), 1U);

    // A file that is cut off is refused, and so is a file without one of its lines. The message names a line of the file.
    const auto lines = static_cast<std::size_t>(std::count(SAS.begin(), SAS.end(), '\n'));
    for (std::size_t length = 0; length + 1 < SAS.size(); ++length)
        CHECK_THROWS(read_sas(SAS.substr(0, length)), SasError);
    for (std::size_t i = 0; i < lines; ++i) {
        try {
            read_sas(without_line(SAS, i));
            CHECK(false);
        } catch (const SasError &error) {
            CHECK(error.line >= 1 && error.line <= static_cast<int>(lines) + 1);
            CHECK(!error.expected.empty());
        }
    }
    // With a changed character the file is a task or is refused with a SasError.
    for (char c : {'9', '-', 'x', ' ', '\n', '\0'})
        for (std::size_t i = 0; i < SAS.size(); ++i) {
            std::string damaged = SAS;
            damaged[i] = c;
            try {
                const Task read = read_sas(damaged);
                CHECK(read.variable_count() == 2 && read.initial()[0] < 3 && read.initial()[1] < 2);
            } catch (const SasError &) {
            }
        }
    const auto replaced = [](const std::string &old, const std::string &with) {
        std::string text = SAS;
        return text.replace(text.find(old), old.size(), with);
    };
    CHECK_EQUAL(read_sas(replaced("\n7\n", "\n1073741823\n")).cost(0), MAX_OPERATOR_COST);
    CHECK_THROWS(read_sas(replaced("\n7\n", "\n1073741824\n")), SasError);
    CHECK_THROWS(read_sas(replaced("\n7\n", "\n99999999999999999999\n")), SasError);
    CHECK_THROWS(read_sas(replaced("\n7\n", "\n-1\n")), SasError);
    CHECK_THROWS(read_sas(replaced("3\nAtom", "2000000000\nAtom")), SasError);
    CHECK_THROWS(read_sas(replaced("0 0 0 2\n", "0 0 0 3\n")), SasError);
    CHECK_THROWS(read_sas(SAS + "more\n"), SasError);
}

// Assignments over few and over many values, so that both kinds of nodes occur, on plain and on packed states.
void test_match_tree() {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CounterRandom random(seed);
        const std::vector<int> domains{2, 3, 200, 2, 5, 70, 1, 2};
        std::vector<std::vector<Fact>> assignments;
        const std::uint64_t count = random.below(60);
        while (assignments.size() < count) {
            assignments.push_back(random_facts(domains, 250, random));
            for (Fact &fact : assignments.back()) fact.value %= 3;  // so that some of them hold
            for (Fact &fact : assignments.back()) fact.value = std::min(fact.value, domains[fact.variable] - 1);
        }
        const MatchTree tree(domains, assignments);
        const StatePacker packer(domains);
        std::vector<std::uint64_t> packed(static_cast<std::size_t>(packer.words()));
        for (int i = 0; i < 200; ++i) {
            std::vector<int> state = random_state(domains, random);
            if (i % 2 == 0)
                for (std::size_t v = 0; v < state.size(); ++v) state[v] = std::min(state[v] % 3, domains[v] - 1);
            packer.pack(state.data(), packed.data());
            std::vector<int> expected, plain, from_packed;
            for (std::size_t a = 0; a < assignments.size(); ++a)
                if (std::all_of(assignments[a].begin(), assignments[a].end(),
                                [&](const Fact &fact) { return state[fact.variable] == fact.value; }))
                    expected.push_back(static_cast<int>(a));
            tree.match(PlainValues{state.data()}, [&](int id) { plain.push_back(id); });
            tree.match(PackedValues{packer, packed.data()}, [&](int id) { from_packed.push_back(id); });
            CHECK(plain == from_packed);
            std::sort(plain.begin(), plain.end());
            CHECK(plain == expected);
        }
    }
}

// Packed states are changed word by word; the task itself changes values.
void test_successors() {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<int> domains{7, 2, 65536, 3, 2, 65536, 2, 65536, 9, 65536, 4};  // more than one word
        const Task task = random_task(domains, 15, seed, true);
        const SuccessorGenerator generator(task);
        const StatePacker &packer = generator.packer();
        CHECK_EQUAL(packer.words(), 2);
        CounterRandom random(seed, 1);
        std::vector<std::uint64_t> from(2), to(2);
        std::vector<int> successor(domains.size()), unpacked(domains.size());
        std::vector<OperatorId> applicable;
        for (int i = 0; i < 50; ++i) {
            std::vector<int> state = random_state(domains, random);
            const auto op = static_cast<OperatorId>(random.below(15));
            for (const Fact &fact : task.preconditions(op)) state[fact.variable] = fact.value;
            generator.applicable(state.data(), applicable);
            CHECK(applicable == naive::applicable(task, state.data()));
            CHECK(std::find(applicable.begin(), applicable.end(), op) != applicable.end());
            packer.pack(state.data(), from.data());
            CHECK(generator.is_goal(from.data()) == task.is_goal(state.data()));
            generator.apply(op, from.data(), to.data());
            packer.unpack(to.data(), unpacked.data());
            task.apply(op, state.data(), successor.data());
            CHECK(unpacked == successor);
            task.apply(op, state.data(), state.data());  // in place
            CHECK(state == successor);
        }
    }
}

void test_batch() {
    const Task task = make_task({3, 2}, {0, 0}, {{0, 2}}, {step(0, 0, 1), step(0, 1, 2), step(1, 0, 1)});
    const SuccessorGenerator generator(task);
    const std::vector<std::int32_t> states{0, 0, 1, 1, 2, 0};
    std::vector<std::int64_t> offsets;
    std::vector<OperatorId> operators;
    applicable_batch(generator, states.data(), 3, offsets, operators);
    CHECK((offsets == std::vector<std::int64_t>{0, 2, 3, 4}));
    CHECK((operators == std::vector<OperatorId>{0, 2, 1, 2}));
    std::vector<std::int32_t> result(6);
    const std::vector<OperatorId> good{2, 1, 2}, bad{2, 0, 2};
    CHECK_EQUAL(apply_batch(task, states.data(), good.data(), 3, result.data()), -1);
    CHECK((result == std::vector<std::int32_t>{0, 1, 2, 1, 2, 1}));
    CHECK_EQUAL(apply_batch(task, states.data(), bad.data(), 3, result.data()), 1);
    CHECK_EQUAL(find_invalid_value(task, states.data(), 3), -1);
    CHECK_EQUAL(find_invalid_value(task, std::vector<std::int32_t>{0, 0, 1, 2}.data(), 2), 3);
    CHECK_EQUAL(find_invalid_value(task, std::vector<std::int32_t>{-1, 0}.data(), 1), 0);
}

void test_predecessors() {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Task task = random_task({2, 3, 2, 3}, 8, seed);
        const PredecessorGenerator generator(task);
        const AllStates all(task);
        using Step = std::tuple<std::vector<int>, OperatorId, std::vector<int>>;
        std::set<Step> forwards, backwards;
        std::vector<int> successor(4);
        std::vector<OperatorId> operators;
        for (int i = 0; i < all.count(); ++i) {
            const std::vector<int> state = all.state(i);
            for (OperatorId op : naive::applicable(task, state.data())) {
                task.apply(op, state.data(), successor.data());
                forwards.insert({state, op, successor});
            }
            generator.operators(state.data(), operators);
            CHECK(std::is_sorted(operators.begin(), operators.end()));
            for (OperatorId op : operators)
                generator.for_each_predecessor(op, state.data(), [&](const int *values) {
                    CHECK(backwards.insert({{values, values + 4}, op, state}).second);  // each once
                });
        }
        CHECK(!forwards.empty() && forwards == backwards);
    }
    CHECK_THROWS(PredecessorGenerator(read_sas(SAS)), Unsupported);
}

void test_state() {
    const State state({3, 0, 12});
    CHECK(state.text() == "3 0 12");
    CHECK(State::parse("3 0 12") == state && State::parse(" 3, 0,12 ") == state);
    CHECK(State::parse("3 0 12").hash() == state.hash());
    CHECK(State({3, 0, 13}).hash() != state.hash());
    CHECK(State({3, 0, 11}) < state && State({3, 1}) > state);
    for (const char *text : {"3 x", "3 -", "99999999999", "-3", "1 2 ."})
        CHECK_THROWS(State::parse(text), std::invalid_argument);
}

}  // namespace

int main() {
    test_sas_reader();
    test_match_tree();
    test_successors();
    test_batch();
    test_predecessors();
    test_state();
    return misstep::test::result();
}
