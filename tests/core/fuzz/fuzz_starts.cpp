// Start states that are listed, counted or drawn are compared with those that plain evaluation of the condition gives.
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "bytes.h"
#include "jani/initial.h"
#include "jani/operators.h"

namespace {

using namespace misstep;
using namespace misstep::jani;

constexpr Word UNBOUNDED = 40;  // values up to it are tried for a variable without bounds
constexpr std::size_t MOST_STATES = 1024;

// Variables, and conditions over them.
class Drawer {
   public:
    explicit Drawer(test::Bytes &bytes) : bytes_(bytes), e_(std::make_unique<Expressions>()) {
        for (int left = 1 + bytes.below(5); left > 0; --left) declare();
        if (bytes.below(3) == 0) {  // an array
            length_ = 2 + bytes.below(2);
            first_ = static_cast<SlotId>(e_->slots().size());
            for (int i = 0; i < length_; ++i) declare_integer(-1, 2);
        }
    }
    std::unique_ptr<Expressions> take() { return std::move(e_); }
    const Expressions &expressions() const { return *e_; }

    ExprId conditions() {
        ExprId result = e_->boolean(true);
        for (int left = 1 + bytes_.below(5); left > 0; --left)
            result = e_->apply(Op::conjunction, {result, condition(2)});
        return result;
    }

   private:
    void declare_integer(Word low, Word high) {
        Slot slot{Type::integer, false, true, {}, "i"};
        slot.range.low = low;
        slot.range.high = high;
        e_->declare(slot);
    }
    void declare() {
        switch (bytes_.below(6)) {
            case 0: {
                Range truth;
                truth.low = 0;
                truth.high = 1;
                e_->declare({Type::boolean, false, true, truth, "b"});
                break;
            }
            case 1: e_->declare({Type::integer, false, false, {}, "free"}); break;
            case 2: {
                Slot slot{Type::real, false, bytes_.below(2) != 0, {}, "r"};
                if (slot.bounded) {
                    slot.range.real_low = -1;
                    slot.range.real_high = 1;
                }
                e_->declare(slot);
                break;
            }
            default: {
                const Word low = bytes_.below(6) - 3;
                declare_integer(low, low + bytes_.below(9));
            }
        }
    }
    ExprId variable() { return e_->variable(static_cast<SlotId>(bytes_.below(static_cast<int>(e_->slots().size())))); }
    ExprId constant() {
        if (bytes_.below(5) != 0) return e_->constant(Type::integer, bytes_.below(9) - 3);
        constexpr double REALS[] = {0.5, -0.25, 1, 1e-300, 1e17, 0.1};
        return e_->constant(Type::real, stored_real(REALS[bytes_.below(6)]));
    }
    // A number, or whatever the variable is: a type that does not fit is a ModelError.
    ExprId number(int depth) {
        const int choice = bytes_.below(depth > 0 ? 14 : 5);
        if (choice < 3) return variable();
        if (choice < 5) return constant();
        if (choice == 5) return e_->apply(Op::ite, {condition(depth - 1), number(depth - 1), number(depth - 1)});
        if (choice == 6 && length_ > 0) return e_->element(first_, length_, number(depth - 1));
        constexpr Op OPS[] = {Op::add,     Op::subtract, Op::multiply, Op::modulo,
                              Op::minimum, Op::maximum,  Op::add,      Op::divide};
        return e_->apply(OPS[choice - 6], {number(depth - 1), number(depth - 1)});
    }
    ExprId condition(int depth) {
        constexpr Op COMPARISONS[] = {Op::equal, Op::not_equal, Op::less, Op::less_equal, Op::greater_equal, Op::equal};
        const int choice = bytes_.below(depth > 0 ? 12 : 7);
        if (choice < 6) return e_->apply(COMPARISONS[choice], {number(2), number(2)});
        if (choice == 6) return e_->apply(Op::equal, {variable(), constant()});
        if (choice == 7) return e_->apply(Op::negation, {condition(depth - 1)});
        constexpr Op LOGIC[] = {Op::conjunction, Op::disjunction, Op::implication, Op::disjunction};
        return e_->apply(LOGIC[choice - 8], {condition(depth - 1), condition(depth - 1)});
    }

    test::Bytes &bytes_;
    std::unique_ptr<Expressions> e_;
    SlotId first_ = 0;
    int length_ = 0;
};

// By definition: node by node.
Word value_of(const Expressions &e, ExprId id, const std::vector<Word> &state) {
    const Expressions::Node &node = e[id];
    const auto argument = [&](int i) { return value_of(e, node.arguments[static_cast<std::size_t>(i)], state); };
    switch (node.op) {
        case Op::constant: return node.word;
        case Op::variable: return state[static_cast<std::size_t>(node.word)];
        case Op::within:
        case Op::element: {
            const Word index = argument(0);
            if (index < 0 || index >= node.length) throw Fault{"an index outside of its array"};
            return node.op == Op::within ? index : state[static_cast<std::size_t>(node.word + index)];
        }
        case Op::conjunction: return argument(0) != 0 ? argument(1) : 0;
        case Op::disjunction: return argument(0) != 0 ? 1 : argument(1);
        case Op::ite: return argument(0) != 0 ? argument(1) : argument(2);
        default: {
            const Word first = argument(0), second = node.arguments[1] == NO_EXPRESSION ? 0 : argument(1);
            return compute(node.op, e[node.arguments[0]].type, first, second, 0);
        }
    }
}

std::optional<bool> holds(const Expressions &e, ExprId condition, const std::vector<Word> &state) {
    try {
        return value_of(e, condition, state) != 0;
    } catch (const Fault &) {
        return std::nullopt;
    }
}

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
    Drawer drawer(bytes);
    ExprId condition;
    try {
        condition = drawer.conditions();
    } catch (const ModelError &) {  // types that do not fit
        return 0;
    }
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
