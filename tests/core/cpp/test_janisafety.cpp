#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "check.h"
#include "janisafety/game_space.h"
#include "janisafety/ground_truth.h"
#include "janisafety/jani_transitions.h"
#include "janisafety/network_policy.h"
#include "janisafety/random_label.h"
#include "nets/mlp.h"
#include "safety/risk.h"

using namespace misstep;
using namespace misstep::safety;
using jani::ExprId;
using jani::Op;
using jani::Type;
using jani::Word;

namespace {

constexpr LabelId LEFT = 0, RIGHT = 1, JUMP = 2;

// x from 0 to 5, and a real r that never changes. 0 is a goal, 4 is unsafe.
//   left    x - 1, from 1 to 3
//   right   x + 1, from 1 to 3, and from 5 to 4
//   jump    from 2 to 0 or 5, with the same probability
// All states are safe except 4 and 5, since 5 can only go to 4.
std::shared_ptr<const jani::Task> make_task() {
    auto owner = std::make_unique<jani::Expressions>();
    jani::Expressions &e = *owner;
    jani::Slot integer{Type::integer, false, true, {}, "x"}, real{Type::real, false, false, {}, "r"};
    integer.range.low = 0;
    integer.range.high = 5;
    const jani::SlotId slot = e.declare(integer);
    e.declare(real);
    const ExprId x = e.variable(slot);
    const auto number = [&](Word value) { return e.constant(Type::integer, value); };
    const auto is = [&](Word value) { return e.apply(Op::equal, {x, number(value)}); };
    const auto to = [&](ExprId value, double probability) {
        jani::DestinationSource result{e.constant(Type::real, jani::from_real(probability)), {}, {}, "destination"};
        result.assignments.push_back({slot, 0, jani::NO_EXPRESSION, value, 0, "assignment"});
        return result;
    };
    const ExprId middle =
        e.apply(Op::conjunction, {e.apply(Op::less, {number(0), x}), e.apply(Op::less, {x, number(4)})});
    std::vector<std::vector<jani::EdgeSource>> groups{
        {{middle, {to(e.apply(Op::subtract, {x, number(1)}), 1)}, "left"}},
        {{middle, {to(e.apply(Op::add, {x, number(1)}), 1)}, "right"}, {is(5), {to(number(4), 1)}, "right"}},
        {{is(2), {to(number(0), 0.5), to(number(5), 0.5)}, "jump"}}};
    const ExprId unsafe = is(4), goal = is(0);
    auto model = std::make_shared<jani::Model>(
        std::move(owner), std::vector<std::string>{"left", "right", "jump"}, std::move(groups),
        std::vector<jani::Vector>{{LEFT, {0}}, {RIGHT, {1}}, {JUMP, {2}}}, std::vector<jani::TransientSource>{},
        std::vector<jani::TransientValueSource>{}, jani::OutOfBounds::error, jani::Silent::refuse);
    const Word r = jani::from_real(0.5);
    return std::make_shared<jani::Task>(model, unsafe, "unsafe", goal, "goal", unsafe, jani::Distance::Scale::none,
                                        std::vector<std::vector<Word>>{{1, r}, {2, r}, {3, r}}, "start");
}

StateId intern(jani::Engine &engine, Word x) {
    const Word values[] = {x, jani::from_real(0.5)};
    return engine.intern(values);
}

Word x_of(const jani::Engine &engine, StateId id) {
    Word values[2];
    engine.values(id, values);
    return values[0];
}

void test_transitions() {
    JaniTransitions transitions(std::make_shared<jani::Engine>(make_task()));
    const auto id = [&](Word x) { return intern(transitions.engine(), x); };
    for (Word x = 0; x <= 5; ++x) {
        CHECK_EQUAL(transitions.flags(id(x)), x == 4 ? UNSAFE : x == 0 ? GOAL : PLAIN);
        CHECK_EQUAL(transitions.distance(id(x)), std::abs(static_cast<double>(x - 4)));
    }
    const std::map<Word, std::map<LabelId, std::set<Word>>> edges{{1, {{LEFT, {0}}, {RIGHT, {2}}}},
                                                                  {2, {{LEFT, {1}}, {RIGHT, {3}}, {JUMP, {0, 5}}}},
                                                                  {3, {{LEFT, {2}}, {RIGHT, {4}}}},
                                                                  {5, {{RIGHT, {4}}}}};
    for (const auto &[x, expected] : edges) {
        Expansion expansion;
        transitions.expand(id(x), expansion);
        std::map<LabelId, std::set<Word>> whole, parts;
        for (std::size_t i = 0; i < expansion.labels.size(); ++i)
            for (std::uint32_t o = expansion.offsets[i]; o < expansion.offsets[i + 1]; ++o)
                whole[expansion.labels[i]].insert(x_of(transitions.engine(), expansion.outcomes[o]));
        CHECK(whole == expected);
        std::vector<LabelId> labels;
        transitions.labels(id(x), labels);
        for (LabelId label : labels) {
            std::vector<StateId> outcomes;
            transitions.outcomes(id(x), label, outcomes);
            for (StateId outcome : outcomes) parts[label].insert(x_of(transitions.engine(), outcome));
        }
        CHECK(parts == expected);
        CHECK(labels == expansion.labels);
    }
    std::vector<StateId> outcomes{7};
    transitions.outcomes(id(3), JUMP, outcomes);
    CHECK(outcomes.empty());  // does not apply
    CHECK(transitions.label_name(JUMP) == "jump");
    CHECK(transitions.describe(id(3)).find('3') != std::string::npos);
    std::set<Word> drawn;
    CounterRandom random(1);
    for (int i = 0; i < 100; ++i) drawn.insert(x_of(transitions.engine(), transitions.sample(random)));
    CHECK(drawn == (std::set<Word>{1, 2, 3}));
}

// Two outputs from x and r: for right 2x, for left 2 + 4r, which is 4 everywhere. Counts its evaluations.
class Counted : public Network {
   public:
    Counted() : Network(2, 2) {}
    void evaluate(const double *inputs, int count, double *outputs) override {
        ++calls;
        for (int i = 0; i < count; ++i) {
            outputs[2 * i] = 2 * inputs[2 * i + 1];
            outputs[2 * i + 1] = 2 + 4 * inputs[2 * i];
        }
    }
    int calls = 0;
};

void test_network_policy() {
    const auto engine = std::make_shared<jani::Engine>(make_task());
    const auto network = std::make_shared<Counted>();
    const auto id = [&](Word x) { return intern(*engine, x); };
    // The inputs are r, x, and the outputs are right, left.
    NetworkPolicy filtered(engine, network, {1, 0}, {RIGHT, LEFT}, true),
        free(engine, network, {1, 0}, {RIGHT, LEFT}, false);
    const LabelId both[] = {LEFT, RIGHT}, left[] = {LEFT}, jump[] = {JUMP}, all[] = {LEFT, RIGHT, JUMP};
    CHECK_EQUAL(filtered.choose(id(1), both), LEFT);
    CHECK_EQUAL(filtered.choose(id(2), all), RIGHT);  // as good as left: the first output
    CHECK_EQUAL(filtered.choose(id(3), both), RIGHT);
    CHECK_EQUAL(filtered.choose(id(3), left), LEFT);
    CHECK_EQUAL(filtered.choose(id(3), jump), NO_LABEL);
    CHECK_EQUAL(free.choose(id(3), left), RIGHT);
    CHECK_EQUAL(free.choose(id(3), jump), RIGHT);
    double values[3];
    filtered.values(id(3), all, values);
    CHECK(values[0] == 4 && values[1] == 6 && values[2] == -std::numeric_limits<double>::infinity());

    // A batch is evaluated in one call with the same answers. States that are not in the batch are evaluated alone.
    const std::vector<StateId> batch{id(1), id(3)};
    network->calls = 0;
    filtered.prepare(batch);
    CHECK_EQUAL(network->calls, 1);
    CHECK_EQUAL(filtered.choose(id(1), both), LEFT);
    CHECK_EQUAL(filtered.choose(id(3), both), RIGHT);
    CHECK_EQUAL(network->calls, 1);
    CHECK_EQUAL(filtered.choose(id(5), both), RIGHT);
    filtered.values(id(5), both, {values, 2});
    CHECK_EQUAL(values[1], 10.0);
    CHECK_EQUAL(network->calls, 2);
    filtered.prepare({});  // forgets the batch
    CHECK_EQUAL(filtered.choose(id(1), both), LEFT);
    CHECK_EQUAL(network->calls, 3);

    // An input may be a constant: with 1 for x, both outputs count as they do in x = 1, whatever the state.
    NetworkPolicy fixed(engine, network, {1, 0}, {RIGHT, LEFT}, true, {{1, 1.0}});
    CHECK_EQUAL(fixed.choose(id(3), both), filtered.choose(id(1), both));
    CHECK_THROWS(NetworkPolicy(engine, network, {1, 0}, {RIGHT, LEFT}, true, {{2, 1.0}}), std::invalid_argument);
    const double infinite = std::numeric_limits<double>::infinity();
    CHECK_THROWS(NetworkPolicy(engine, network, {1, 0}, {RIGHT, LEFT}, true, {{0, infinite}}), std::invalid_argument);

    const std::vector<double> huge{1e308, 1e308, 0, 0};
    NetworkPolicy broken(engine, std::make_shared<Mlp>(std::vector<int>{1, 2}, huge, Mlp::Normalisation{}), {0},
                         {RIGHT, LEFT}, true);
    CHECK_EQUAL(broken.choose(id(1), both), RIGHT);
    CHECK_THROWS(broken.choose(id(2), both), PolicyError);
    CHECK_THROWS(broken.values(id(2), both, {values, 2}), PolicyError);

    const auto make = [&](std::vector<std::uint32_t> columns, std::vector<LabelId> labels) {
        return NetworkPolicy(engine, network, std::move(columns), std::move(labels), true);
    };
    CHECK_THROWS(make({0}, {RIGHT, LEFT}), std::invalid_argument);
    CHECK_THROWS(make({0, 1}, {RIGHT}), std::invalid_argument);
    CHECK_THROWS(make({0, 2}, {RIGHT, LEFT}), std::invalid_argument);
    CHECK_THROWS(make({0, 1}, {RIGHT, 3}), std::invalid_argument);
    CHECK_THROWS(make({0, 1}, {RIGHT, -1}), std::invalid_argument);
    CHECK_THROWS(make({0, 1}, {RIGHT, RIGHT}), std::invalid_argument);
}

// The label depends on the values of the state, not on its id.
void test_random_label() {
    const auto engine = std::make_shared<jani::Engine>(make_task()),
               other = std::make_shared<jani::Engine>(make_task());
    for (Word x = 5; x >= 0; --x) intern(*other, x);
    const LabelId all[] = {LEFT, RIGHT, JUMP};
    std::set<std::vector<LabelId>> decisions;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        RandomLabel one(engine, seed), two(other, seed);
        std::vector<LabelId> labels;
        for (Word x = 1; x <= 3; ++x) {
            labels.push_back(one.choose(intern(*engine, x), all));
            CHECK_EQUAL(two.choose(intern(*other, x), all), labels.back());
            CHECK_EQUAL(one.choose(intern(*engine, x), all), labels.back());
        }
        decisions.insert(labels);
    }
    CHECK(intern(*engine, 1) != intern(*other, 1));
    CHECK_EQUAL(decisions.size(), 27U);  // each combination occurs
}

class Chosen : public LabelPolicy {
   public:
    Chosen(std::shared_ptr<jani::Engine> engine, std::map<Word, LabelId> labels)
        : engine_(std::move(engine)), labels_(std::move(labels)) {}
    LabelId choose(StateId id, std::span<const LabelId>) override { return labels_.at(x_of(*engine_, id)); }

   private:
    std::shared_ptr<jani::Engine> engine_;
    std::map<Word, LabelId> labels_;
};

// For x from 0 to 5.
struct Expected {
    std::vector<LabelId> decisions;
    std::vector<Radius> deviations;
    std::vector<int> faults, bugs;
};

void check_truth(const std::map<Word, LabelId> &policy, Radius largest, const Expected &expected) {
    const auto engine = std::make_shared<jani::Engine>(make_task());
    intern(*engine, 5);  // so that ids are not the numbers of the space
    System system(std::make_shared<JaniTransitions>(engine), std::make_shared<Chosen>(engine, policy),
                  {DeadEnds::safe, Inapplicable::stop_safe});
    jani::Space space(make_task(), {}, {});
    CHECK(space.complete() && space.size() == 6);
    const GroundTruth truth = ground_truth(space, system, *engine, largest, {});
    CHECK(truth.limit == Limit::none);
    for (StateId s = 0; s < space.size(); ++s) {
        Word values[2];
        space.values(s, values);
        const auto x = static_cast<std::size_t>(values[0]);
        CHECK_EQUAL(truth.decisions[s], expected.decisions[x]);
        CHECK_EQUAL(truth.lost[s] != 0, x >= 4);
        CHECK_EQUAL(truth.deviations[s], expected.deviations[x]);
        CHECK_EQUAL(truth.faults[s], expected.faults[x]);
        CHECK_EQUAL(truth.bugs[s], expected.bugs[x]);
    }
}

void test_ground_truth() {
    constexpr LabelId NONE = NO_LABEL;
    // The policy always goes right: from 3 back to the goal takes three deviations, and only the step from 3 is a fault.
    const std::map<Word, LabelId> right{{1, RIGHT}, {2, RIGHT}, {3, RIGHT}, {5, RIGHT}};
    check_truth(
        right, 9,
        {{NONE, RIGHT, RIGHT, RIGHT, NONE, RIGHT}, {0, 1, 2, 3, 10, 10}, {0, 0, 0, 1, 0, 0}, {0, 1, 1, 1, 0, 0}});
    check_truth(right, 1,
                {{NONE, RIGHT, RIGHT, RIGHT, NONE, RIGHT}, {0, 1, 2, 2, 2, 2}, {0, 0, 0, 1, 0, 0}, {0, 1, 1, 1, 0, 0}});
    // The jump from 2 is a fault, because one of its outcomes is 5.
    check_truth({{1, LEFT}, {2, JUMP}, {3, LEFT}, {5, RIGHT}}, 9,
                {{NONE, LEFT, JUMP, LEFT, NONE, RIGHT}, {0, 0, 1, 1, 10, 10}, {0, 0, 1, 0, 0, 0}, {0, 0, 1, 1, 0, 0}});
    // The policy names a label that does not apply in 3 and stops there. That is no bug, but a strategy has to act there.
    check_truth({{1, LEFT}, {2, RIGHT}, {3, JUMP}, {5, RIGHT}}, 9,
                {{NONE, LEFT, RIGHT, NONE, NONE, RIGHT}, {0, 0, 1, 2, 10, 10}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}});

    const auto engine = std::make_shared<jani::Engine>(make_task());
    System system(std::make_shared<JaniTransitions>(engine), std::make_shared<Chosen>(engine, right));
    jani::Space space(make_task(), {}, {});
    Limits limits;
    limits.expansions = 2;
    const GroundTruth cut = ground_truth(space, system, *engine, 9, limits);
    CHECK(cut.limit == Limit::expansions);
    CHECK(cut.decisions.empty() && cut.lost.empty() && cut.deviations.empty());
}

// Two automata that each move with probability 1e-200, and both must move at the same time to be unsafe. Their product 1e-400
// is not a number of the machine, but the only label is tried for ever, so the risk is 1 and must not be bounded by 0.
void test_probabilities_whose_product_underflows() {
    auto owner = std::make_unique<jani::Expressions>();
    jani::Expressions &e = *owner;
    const auto number = [&](Word value) { return e.constant(Type::integer, value); };
    std::vector<ExprId> moved;
    std::vector<std::vector<jani::EdgeSource>> groups;
    for (const char *name : {"x", "y"}) {
        jani::Slot slot{Type::integer, false, true, {}, name};
        slot.range.low = 0;
        slot.range.high = 1;
        const jani::SlotId id = e.declare(slot);
        moved.push_back(e.apply(Op::equal, {e.variable(id), number(1)}));
        const auto to = [&](Word value, double probability) {
            jani::DestinationSource result{e.constant(Type::real, jani::from_real(probability)), {}, {}, "destination"};
            result.assignments.push_back({id, 0, jani::NO_EXPRESSION, number(value), 0, "assignment"});
            return result;
        };
        groups.push_back({{e.boolean(true), {to(0, 1 - 1e-200), to(1, 1e-200)}, "try"}});
    }
    const ExprId unsafe = e.apply(Op::conjunction, moved), goal = e.boolean(false);
    auto model = std::make_shared<jani::Model>(
        std::move(owner), std::vector<std::string>{"try"}, std::move(groups), std::vector<jani::Vector>{{0, {0, 1}}},
        std::vector<jani::TransientSource>{}, std::vector<jani::TransientValueSource>{}, jani::OutOfBounds::error,
        jani::Silent::refuse);
    const auto task =
        std::make_shared<jani::Task>(model, unsafe, "unsafe", goal, "goal", unsafe, jani::Distance::Scale::none,
                                     std::vector<std::vector<Word>>{{0, 0}}, "start");
    const auto engine = std::make_shared<jani::Engine>(task);
    const Word start[] = {0, 0};
    const GameSpace space(engine, std::vector<StateId>{engine->intern(start)}, nullptr, {});
    CHECK_EQUAL(space.game().size(), 4U);
    CHECK_EQUAL(space.game().factors, 2U);
    space.game().check();
    const Bounds bounds = risk_bounds(space.game(), 1e-6, {}, nullptr);
    CHECK_EQUAL(bounds.high[0], 1.0);
    CHECK_EQUAL(bounds.low[0], 0.0);  // nothing can be said from below
}

// A weight is divided by the number of choices of each non-deterministic assignment, and each quotient is rounded.
void test_choices_count_as_factors() {
    auto owner = std::make_unique<jani::Expressions>();
    jani::Expressions &e = *owner;
    jani::DestinationSource chosen{e.constant(Type::real, jani::from_real(1)), {}, {}, "destination"};
    std::vector<ExprId> unsafe;
    for (const char *name : {"x", "y"}) {
        jani::Slot slot{Type::integer, false, true, {}, name};
        slot.range.low = 0;
        slot.range.high = 2;
        const jani::SlotId id = e.declare(slot);
        unsafe.push_back(e.apply(Op::equal, {e.variable(id), e.constant(Type::integer, 2)}));
        jani::AssignmentSource assignment{id, 0, jani::NO_EXPRESSION, e.boolean(false), 0, "assignment"};
        assignment.selects = true;
        for (Word value = 0; value < 3; ++value) assignment.choices.emplace_back(value, e.boolean(true));
        chosen.assignments.push_back(assignment);
    }
    const ExprId both = e.apply(Op::conjunction, unsafe), goal = e.boolean(false);
    std::vector<std::vector<jani::EdgeSource>> groups{{{e.boolean(true), {chosen}, "choose"}}};
    auto model = std::make_shared<jani::Model>(
        std::move(owner), std::vector<std::string>{"choose"}, std::move(groups), std::vector<jani::Vector>{{0, {0}}},
        std::vector<jani::TransientSource>{}, std::vector<jani::TransientValueSource>{}, jani::OutOfBounds::error,
        jani::Silent::refuse);
    const auto task =
        std::make_shared<jani::Task>(model, both, "unsafe", goal, "goal", both, jani::Distance::Scale::none,
                                     std::vector<std::vector<Word>>{{0, 0}}, "start");
    const auto engine = std::make_shared<jani::Engine>(task);
    const Word start[] = {0, 0};
    const GameSpace space(engine, std::vector<StateId>{engine->intern(start)}, nullptr, {});
    CHECK_EQUAL(space.game().size(), 9U);
    CHECK_EQUAL(space.game().factors, 3U);
}

}  // namespace

int main() {
    test_transitions();
    test_network_policy();
    test_random_label();
    test_ground_truth();
    test_probabilities_whose_product_underflows();
    test_choices_count_as_factors();
    return misstep::test::result();
}
