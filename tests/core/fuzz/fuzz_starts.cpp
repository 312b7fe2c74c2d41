// Start states that are listed, counted or drawn are compared with those that plain evaluation of the condition gives.
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "bytes.h"
#include "jani/initial.h"
#include "small_models.h"

namespace {

using namespace misstep;
using namespace misstep::jani;
using test::holds;

constexpr Word UNBOUNDED = 40;  // values up to it are tried for a variable without bounds
constexpr std::size_t MOST_STATES = 1024;

std::vector<Word> tried(const Slot &slot) {
    std::vector<Word> values;
    if (slot.type == Type::real) {
        for (const double value : {0.0, 1.0, -1.0, 0.5, 0.25, 0.1, 1e-300, -1e-300, 1e-17, 2.0, 1e17})
            if (slot.contains(stored_real(value))) values.push_back(stored_real(value));
    } else {
        const Word low = slot.bounded ? slot.range.low : -UNBOUNDED, high = slot.bounded ? slot.range.high : UNBOUNDED;
        for (Word value = low; value <= high; ++value) values.push_back(value);
    }
    return values;
}

// The states that plain evaluation accepts among those that are tried.
struct Truth {
    std::set<std::vector<Word>> accepted;
    bool all = true;      // each state was tried
    bool faulty = false;  // for some state the condition has no result
};

Truth find(const Expressions &e, ExprId condition, test::Bytes &bytes) {
    Truth truth;
    std::vector<std::vector<Word>> domains;
    std::size_t count = 1;
    for (const Slot &slot : e.slots()) {
        domains.push_back(tried(slot));
        truth.all = truth.all && slot.type != Type::real && slot.bounded;
        count = std::min(count * domains.back().size(), MOST_STATES + 1);
    }
    const bool few = count <= MOST_STATES;
    truth.all = truth.all && few;
    std::uint64_t seed = bytes.take<std::uint16_t>();
    for (std::size_t i = 0; i < (few ? count : 256); ++i) {
        std::vector<Word> state;
        CounterRandom random(seed, i);
        std::size_t number = i;
        for (const std::vector<Word> &domain : domains) {
            state.push_back(domain[few ? number % domain.size() : random.below(domain.size())]);
            number /= domain.size();
        }
        const std::optional<bool> result = holds(e, condition, state);
        if (!result) truth.faulty = true;
        else if (*result) truth.accepted.insert(std::move(state));
    }
    return truth;
}

void check(const std::shared_ptr<const Task> &task, ExprId condition, const Truth &truth, test::Bytes &bytes) {
    const Expressions &e = task->model->expressions();
    const Layout &layout = task->model->layout();
    const auto is_start = [&](const std::vector<Word> &state) {
        for (std::size_t slot = 0; slot < state.size(); ++slot)
            if (!e.slots()[slot].contains(state[slot])) return false;
        return holds(e, condition, state) == std::optional(true);
    };
    InitialStates::Steps steps;
    if (bytes.below(2)) steps.enumeration = static_cast<std::uint64_t>(bytes.below(64));
    else steps.enumeration = 1 << 12;
    steps.branching = static_cast<std::uint64_t>(bytes.below(64));
    steps.tables = static_cast<std::uint64_t>(bytes.below(64));
    steps.proposals = bytes.below(256);
    std::optional<InitialStates> made;
    try {
        made.emplace(task, steps);
    } catch (const ModelError &) {
        // A variable without bounds, or a condition without a result.
        bool endless = false;
        for (const Slot &slot : e.slots()) endless = endless || !slot.bounded;
        REQUIRE(endless || truth.faulty || !truth.all);
        return;
    }
    ++test::accepted;
    InitialStates &initial = *made;
    const std::optional<std::uint64_t> count = initial.count();
    if (truth.all && count) REQUIRE(*count == truth.accepted.size());
    std::vector<Word> state(e.slots().size());
    CounterRandom random(7);
    for (int draws = 0; draws < 8; ++draws) {
        try {
            initial.sample(random, state.data(), 200);
        } catch (const ModelError &) {  // there is none, none was found, or one of those tried has no result
            const InitialStates::Method method = initial.method();
            REQUIRE(truth.accepted.empty() || truth.faulty || !truth.all ||
                    method == InitialStates::Method::rejection || method == InitialStates::Method::searched);
            break;
        }
        REQUIRE(is_start(state));
    }
    for (const std::uint64_t most : {static_cast<std::uint64_t>(bytes.below(128)), std::uint64_t{1} << 12}) {
        std::optional<std::vector<std::uint64_t>> listed;
        try {
            listed = initial.enumerate(most);
        } catch (const ModelError &) {
            bool real = false;
            for (const Slot &slot : e.slots()) real = real || slot.type == Type::real;
            REQUIRE(real || truth.faulty || !truth.all);
            continue;
        }
        if (!listed) continue;
        std::set<std::vector<Word>> found;
        for (std::size_t i = 0; i < listed->size(); i += static_cast<std::size_t>(layout.words())) {
            layout.unpack(listed->data() + i, state.data());
            REQUIRE(is_start(state) && found.insert(state).second);
        }
        for (const std::vector<Word> &one : truth.accepted) REQUIRE(found.contains(one));
        if (count) REQUIRE(*count == found.size());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    std::uint8_t choices[12];
    for (std::uint8_t &byte : choices) byte = bytes.take<std::uint8_t>();
    test::Drawer drawer(bytes);
    const ExprId condition = drawer.conditions();
    test::Bytes rest(choices, sizeof choices);
    const Truth truth = find(drawer.expressions(), condition, rest);
    std::unique_ptr<Expressions> expressions = drawer.take();
    const ExprId never = expressions->boolean(false);
    const auto model = std::make_shared<Model>(std::move(expressions), std::vector<std::string>{},
                                               std::vector<std::vector<EdgeSource>>{}, std::vector<Vector>{},
                                               std::vector<TransientSource>{}, std::vector<TransientValueSource>{},
                                               OutOfBounds::error, Silent::refuse);
    const auto task = std::make_shared<const Task>(model, never, "unsafe", never, "goal", never, Distance::Scale::none,
                                                   condition, "start");
    check(task, condition, truth, rest);
    return 0;
}
