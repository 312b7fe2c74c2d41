#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "base/limits.h"
#include "base/open_list.h"
#include "base/packer.h"
#include "base/random.h"
#include "base/registry.h"
#include "check.h"

using namespace misstep;

namespace {

// Writing one variable leaves all others as they are, also at both ends of a word.
void packer_keeps_variables_apart(const std::vector<int> &domain_sizes, int words) {
    const StatePacker packer(domain_sizes);
    CHECK_EQUAL(packer.words(), words);
    const int count = static_cast<int>(domain_sizes.size());
    std::vector<std::uint64_t> state(static_cast<std::size_t>(packer.words()));
    for (const bool high : {false, true}) {
        std::vector<int> values(domain_sizes.size()), read(domain_sizes.size());
        for (int v = 0; v < count; ++v) values[v] = high ? domain_sizes[v] - 1 : 0;
        packer.pack(values.data(), state.data());
        for (int v = 0; v < count; ++v) {
            const int other = high ? 0 : domain_sizes[v] - 1;
            packer.set(state.data(), v, other);
            CHECK_EQUAL(packer.get(state.data(), v), other);
            CHECK(((state[packer.word_of(v)] & packer.mask_of(v)) == packer.bits_of(v, other)));
            packer.unpack(state.data(), read.data());
            read[v] = values[v];
            CHECK(read == values);
            packer.set(state.data(), v, values[v]);
        }
    }
}

void test_packer() {
    packer_keeps_variables_apart({}, 1);
    packer_keeps_variables_apart({1}, 1);
    packer_keeps_variables_apart(std::vector<int>(64, 2), 1);
    packer_keeps_variables_apart(std::vector<int>(65, 2), 2);
    constexpr int WIDEST = std::numeric_limits<int>::max();  // 31 bits
    packer_keeps_variables_apart({WIDEST, WIDEST, 2, 2}, 1);
    packer_keeps_variables_apart({WIDEST, 2, WIDEST, 2, 2}, 2);
    packer_keeps_variables_apart({3, 2, 5, 17, 256, 257, 2, 1, 65536, 65537, 4, 1000}, 2);
    // Words are counted in 16 bits: four variables of 16 bits fill one.
    CHECK_EQUAL(StatePacker(std::vector<int>(4 << 16, 1 << 16)).words(), 1 << 16);
    CHECK_THROWS(StatePacker(std::vector<int>((4 << 16) + 1, 1 << 16)), std::length_error);
}

void test_registry() {
    StateRegistry registry(2);
    const auto state = [](std::uint64_t i) { return std::vector<std::uint64_t>{i * i, ~i}; };
    const std::uint64_t *first = nullptr;
    constexpr StateId COUNT = 3 * 4096 + 1;  // several segments, and the index grows many times
    for (StateId i = 0; i < COUNT; ++i) {
        const auto [id, is_new] = registry.insert(state(i).data());
        CHECK(id == i && is_new);
        if (i == 0) first = registry[0];
    }
    CHECK(registry[0] == first);  // states never move
    CHECK_EQUAL(registry.size(), COUNT);
    for (StateId i = 0; i < COUNT; ++i) {
        CHECK_EQUAL(registry.find(state(i).data()), i);
        const auto [id, is_new] = registry.insert(state(i).data());
        CHECK(id == i && !is_new);
        CHECK(std::equal(registry[i], registry[i] + 2, state(i).data()));
    }
    CHECK_EQUAL(registry.find(state(COUNT).data()), NO_STATE);
    registry.clear();
    CHECK_EQUAL(registry.size(), 0U);
    CHECK_EQUAL(registry.find(state(0).data()), NO_STATE);
}

// States whose hashes are all the same, at the last slot of the index, so that the search for a free slot wraps around.
void test_registry_with_collisions() {
    StateRegistry registry(1);
    constexpr std::uint64_t HASH = ~std::uint64_t{0};
    for (const bool again : {false, true})
        for (std::uint64_t i = 0; i < 500; ++i) {
            const auto [id, is_new] = registry.insert(&i, HASH);
            CHECK(id == i && is_new != again);
        }
}

template <Ties ties>
void test_open_list() {
    OpenList<ties> open;
    // The keys (0, 31) and (1, 0) share an entry of the table of recent keys.
    const std::vector<std::pair<Cost, Cost>> keys{
        {0, 31}, {1, 0}, {0, 0}, {1, 0}, {0, 31}, {INFINITE_COST, -INFINITE_COST}, {-5, 7}};
    for (std::size_t i = 0; i < keys.size(); ++i) open.push(keys[i].first, keys[i].second, static_cast<StateId>(i));
    CHECK_EQUAL(open.lowest(), -5);
    const std::vector<StateId> expected =
        ties == Ties::first_in ? std::vector<StateId>{6, 2, 0, 4, 1, 3, 5} : std::vector<StateId>{6, 2, 4, 0, 3, 1, 5};
    for (StateId id : expected) CHECK_EQUAL(open.pop(), id);
    CHECK(open.empty());

    // Compared with lists in a map. Pushing and popping alternate, so that buckets are created and removed.
    std::map<std::pair<Cost, Cost>, std::vector<StateId>> twin;
    CounterRandom random(1);
    std::size_t size = 0;
    for (StateId i = 0; i < 20'000; ++i) {
        if (size == 0 || random.below(5) < 3) {
            const auto primary = static_cast<Cost>(random.below(9)), secondary = static_cast<Cost>(random.below(70));
            open.push(primary, secondary, i);
            twin[{primary, secondary}].push_back(i);
            ++size;
        } else {
            auto &[key, ids] = *twin.begin();
            CHECK_EQUAL(open.lowest(), key.first);
            const auto next = ties == Ties::first_in ? ids.begin() : ids.end() - 1;
            CHECK_EQUAL(open.pop(), *next);
            ids.erase(next);
            if (ids.empty()) twin.erase(twin.begin());
            --size;
        }
        CHECK_EQUAL(open.size(), size);
    }
}

void test_random() {
    // "Same seed, same result" also holds between versions, so the numbers are fixed here.
    CounterRandom written(1, 2);
    CHECK_EQUAL(written.next(), 0x93c5bdbe746b8ea0ULL);
    CHECK_EQUAL(written.next(), 0xe347e54ce9ae9e4dULL);

    CounterRandom whole(7, 3);
    std::vector<std::uint64_t> numbers(100);
    for (std::uint64_t &number : numbers) number = whole.next();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        CounterRandom rest(7, 3, i);  // starts in the middle of the stream
        CHECK_EQUAL(rest.next(), numbers[i]);
        CHECK_EQUAL(rest.counter(), i + 1);
    }
    CHECK(CounterRandom(7, 4).next() != numbers[0]);
    CHECK(CounterRandom(8, 3).next() != numbers[0]);

    CounterRandom random(5);
    for (int i = 0; i < 100; ++i) CHECK_EQUAL(random.below(1), 0U);
    constexpr std::uint64_t LARGE = (std::uint64_t{1} << 63) + 1;  // nearly every second number has to be drawn again
    std::uint64_t drawn = random.counter();
    for (int i = 0; i < 1000; ++i) CHECK(random.below(LARGE) < LARGE);
    CHECK(random.counter() - drawn > 1500);
    std::vector<int> counts(6);
    for (int i = 0; i < 60'000; ++i) ++counts[random.below(6)];
    for (int count : counts) CHECK(count > 9'500 && count < 10'500);
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) {
        const double x = random.real();
        CHECK(x >= 0 && x < 1);
        sum += x;
    }
    CHECK(sum > 4'800 && sum < 5'200);
}

void test_hash() {
    const std::uint64_t zeros[2] = {0, 0};
    CHECK(hash_words(zeros, 1) != hash_words(zeros, 2));
    const std::uint64_t one_two[2] = {1, 2}, two_one[2] = {2, 1};
    CHECK(hash_words(one_two, 2) != hash_words(two_one, 2));
}

// How many calls of `check` until a limit is reached, and which one.
std::pair<Limit, std::int64_t> steps_until(const Limits &limits, std::uint64_t Progress::*counter, std::size_t bytes) {
    LimitWatch watch(limits);
    Progress progress;
    for (std::int64_t calls = 0;; ++calls) {
        const Limit limit = watch.check(progress, [&] { return bytes; });
        if (limit != Limit::none) return {limit, calls};
        progress.*counter += calls < 10'000;
    }
}

void test_limits() {
    Limits limits;
    limits.expansions = 1000;
    CHECK((steps_until(limits, &Progress::expansions, 0) == std::pair{Limit::expansions, std::int64_t{1000}}));
    limits.evaluations = 10;
    CHECK((steps_until(limits, &Progress::evaluations, 0) == std::pair{Limit::evaluations, std::int64_t{10}}));
    limits.expansions = 0;
    CHECK((steps_until(limits, &Progress::expansions, 0) == std::pair{Limit::expansions, std::int64_t{0}}));

    Limits memory;
    memory.bytes = 100;
    CHECK((steps_until(memory, &Progress::expansions, 100) == std::pair{Limit::memory, std::int64_t{0}}));
    Limits time;
    time.seconds = 0.02;
    CHECK(steps_until(time, &Progress::expansions, 0).first == Limit::time);
    Limits interrupted;
    int polls = 0;
    interrupted.poll = [&](const Progress &progress) { return progress.seconds >= 0.1 && ++polls < 2; };
    CHECK(steps_until(interrupted, &Progress::expansions, 0).first == Limit::interrupted);
    CHECK_EQUAL(polls, 2);
    CHECK(name(Limit::evaluations) == std::string("evaluations"));
}

}  // namespace

int main() {
    test_packer();
    test_registry();
    test_registry_with_collisions();
    test_open_list<Ties::first_in>();
    test_open_list<Ties::last_in>();
    test_random();
    test_hash();
    test_limits();
    return misstep::test::result();
}
