// What the engine says of the states of a small model is compared with what the definition of a step gives: labels, outcomes and
// probabilities, with synchronisation, assignments in levels, non-deterministic and indexed ones, bounds that disable edges,
// transient variables and moves of the environment.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "bytes.h"
#include "jani/space.h"
#include "small_models.h"

namespace {

using namespace misstep;
using namespace misstep::jani;
using test::value_of;
using State = std::vector<Word>;  // with a value for each slot, also for transient ones

constexpr std::size_t MOST_STATES = 16;

struct Drawn {
    std::vector<std::vector<EdgeSource>> groups;
    std::vector<Vector> vectors;
    std::vector<TransientSource> transients;
    std::vector<TransientValueSource> transient_values;
    OutOfBounds out_of_bounds{};
    Silent silent{};
    ExprId unsafe{}, goal{};
};

constexpr LabelId LABELS = 2;

class ModelDrawer {
   public:
    explicit ModelDrawer(test::Bytes &bytes) : bytes_(bytes), drawer_(bytes) {
        plain_ = static_cast<SlotId>(drawer_.expressions().slots().size());
        for (int left = 1 + bytes.below(2); left > 0; --left) locations_.push_back(drawer_.declare_integer(0, 2));
        // Conditions on states do not read transient variables.
        drawn_.unsafe = bytes.below(3) ? e().apply(Op::conjunction, {drawer_.condition(1), drawer_.condition(1)})
                                       : drawer_.condition(2);
        drawn_.goal = bytes.below(3) ? e().boolean(false) : drawer_.condition(1);
        if (bytes.below(3) == 0) draw_transient();
    }
    Drawn draw() {
        drawn_.out_of_bounds = bytes_.below(2) ? OutOfBounds::disable : OutOfBounds::error;
        drawn_.silent = std::array{Silent::refuse, Silent::as_action, Silent::step}[bytes_.below(3)];
        for (int left = 1 + bytes_.below(4); left > 0; --left)
            automata_.push_back(static_cast<std::size_t>(bytes_.below(static_cast<int>(locations_.size()))));
        for (int left = 1 + bytes_.below(4); left > 0; --left) {
            Vector vector{bytes_.below(4) < 3 ? bytes_.below(LABELS) : SILENT, {}};
            // Each automaton takes part at most once.
            for (std::size_t automaton = 0; automaton < locations_.size(); ++automaton) {
                std::vector<std::uint32_t> own;
                for (std::uint32_t group = 0; group < automata_.size(); ++group)
                    if (automata_[group] == automaton) own.push_back(group);
                if (own.empty() || bytes_.below(4) == 3) continue;
                vector.groups.push_back(own[bytes_.below(static_cast<int>(own.size()))]);
            }
            if (!vector.groups.empty()) drawn_.vectors.push_back(vector);
        }
        for (const std::size_t automaton : automata_) {
            drawn_.groups.emplace_back();
            for (int left = 1 + bytes_.below(3); left > 0; --left)
                drawn_.groups.back().push_back(edge(locations_[automaton]));
        }
        return std::move(drawn_);
    }
    std::unique_ptr<Expressions> take() { return drawer_.take(); }

   private:
    Expressions &e() { return drawer_.expressions(); }

    void draw_transient() {
        Slot slot{Type::integer, true, bytes_.below(2) != 0, {}, "t"};
        if (slot.bounded) {
            slot.range.low = -2;
            slot.range.high = 4;
        }
        // Its definitions read state variables alone.
        const int definitions = bytes_.below(3);
        std::vector<TransientValueSource> values;
        for (int i = 0; i < definitions; ++i) {
            TransientValueSource source{{}, 0, drawer_.integer(2), "transient"};
            if (bytes_.below(2)) source.location = {locations_.front(), bytes_.below(3)};
            values.push_back(source);
        }
        const SlotId id = e().declare(slot);
        for (TransientValueSource &value : values) value.slot = id;
        drawn_.transients.push_back({id, bytes_.below(3)});
        drawn_.transient_values = std::move(values);
        transient_ = id;
    }

    EdgeSource edge(SlotId location) {
        EdgeSource source{bytes_.below(2) ? drawer_.condition(1) : e().boolean(true), {}, "edge"};
        if (bytes_.below(2)) {
            const ExprId at = e().constant(Type::integer, bytes_.below(3));
            source.guard =
                e().apply(Op::conjunction, {e().apply(Op::equal, {e().variable(location), at}), source.guard});
        }
        for (const ExprId probability : probabilities()) {
            source.destinations.push_back({probability, {}, {}, "destination"});
            DestinationSource &own = source.destinations.back();
            if (bytes_.below(2)) own.moves.emplace_back(location, bytes_.below(3));
            for (int left = bytes_.below(4); left > 0; --left) assign(own);
        }
        return source;
    }
    ExprId real(double value) { return e().constant(Type::real, stored_real(value)); }
    std::vector<ExprId> probabilities() {
        switch (bytes_.below(6)) {
            case 0: return {real(0.5), real(0.5)};
            case 1: return {real(0.25), real(0), real(0.75)};
            case 2: {
                const ExprId which = drawer_.condition(1);
                return {e().apply(Op::ite, {which, real(1), real(0)}), e().apply(Op::ite, {which, real(0), real(1)})};
            }
            case 3: {  // negative or above 1 in some states, which is an error there
                const ExprId share = e().apply(Op::divide, {drawer_.integer(0), real(4)});
                return {share, e().apply(Op::subtract, {real(1), share})};
            }
            default: return {real(1)};
        }
    }
    void assign(DestinationSource &destination) {
        AssignmentSource source{0,           0, NO_EXPRESSION, e().boolean(true), bytes_.below(3) ? 0 : bytes_.below(3),
                                "assignment"};
        if (drawer_.array_length() > 0 && bytes_.below(3) == 0) {
            source.slot = drawer_.array();
            source.length = drawer_.array_length();
            source.index = e().within(drawer_.integer(1), source.length);
        } else {
            source.slot = static_cast<SlotId>(bytes_.below(static_cast<int>(plain_)));
            if (transient_ && bytes_.below(4) == 0) source.slot = *transient_;
            // The reader of models refuses two assignments of a variable in one level of a destination.
            for (const AssignmentSource &other : destination.assignments)
                if (other.slot == source.slot && other.length == 0 && other.level == source.level) return;
        }
        const Slot slot = e().slots()[source.slot];
        if (slot.type == Type::boolean) source.value = drawer_.condition(1);
        else if (slot.type == Type::real) source.value = e().convert(drawer_.number(1), Type::real);
        else source.value = drawer_.integer(1);
        if (slot.type == Type::integer && slot.bounded && bytes_.below(5) == 0) {
            source.selects = true;
            for (Word value = slot.range.low; value <= slot.range.high; ++value)
                if (source.choices.size() < 4) source.choices.emplace_back(value, drawer_.condition(0));
        }
        destination.assignments.push_back(std::move(source));
    }

    test::Bytes &bytes_;
    test::Drawer drawer_;
    Drawn drawn_;
    SlotId plain_ = 0;  // slots before it are variables and array cells
    std::vector<SlotId> locations_;
    std::vector<std::size_t> automata_;  // of the groups
    std::optional<SlotId> transient_;
};

// What can happen in a state. `open`: the order in which its parts are looked at decides whether there is an error.
struct Step {
    bool faulty = false, disabled = false, open = false;
    std::map<State, double> chances;
};

// The definition of a step.
class Definition {
   public:
    Definition(const Drawn &drawn, const Model &model) : drawn_(drawn), model_(model), e_(model.expressions()) {}

    // Of the labels of the model, by number; the outcomes are states without transient variables.
    struct Result {
        bool faulty = false, open = false;
        std::map<LabelId, std::map<State, double>> labels;
    };

    Result expand(const State &given) const {
        Result result;
        State state = given;
        try {
            set_transients(state);
        } catch (const Fault &) {
            result.faulty = true;
            return result;
        }
        std::map<LabelId, std::pair<std::map<State, double>, int>> sums;  // with the number of edges
        std::vector<Step> moves;
        for (const Vector &vector : drawn_.vectors) {
            if (vector.label == SILENT && drawn_.silent == Silent::refuse) {
                bool faulty = false;
                const bool enabled = !choices(vector, state, faulty).empty();
                if (enabled) result.faulty = true;
                else if (faulty) result.open = true;
                continue;
            }
            const LabelId label = vector.label == SILENT ? LABELS : vector.label;
            for (Step &step : fire(vector, state)) {
                result.open = result.open || step.open;
                result.faulty = result.faulty || step.faulty;
                if (step.faulty || step.open || step.disabled) continue;
                if (label == LABELS && drawn_.silent == Silent::step) moves.push_back(std::move(step));
                else add(sums[label], step);
            }
        }
        if (sums.empty() && !moves.empty()) sums[LABELS];
        for (auto &[label, sum] : sums) {
            for (const Step &move : moves) add(sum, move);
            for (auto &[outcome, chance] : sum.first) chance /= sum.second;
            result.labels[label] = std::move(sum.first);
        }
        return result;
    }

   private:
    static void add(std::pair<std::map<State, double>, int> &sum, const Step &step) {
        for (const auto &[outcome, chance] : step.chances) sum.first[outcome] += chance;
        ++sum.second;
    }

    void set_transients(State &state) const {
        for (const TransientSource &transient : drawn_.transients) state[transient.slot] = transient.initial;
        for (const TransientValueSource &source : drawn_.transient_values) {
            if (source.location && state[source.location->first] != source.location->second) continue;
            const Word value = value_of(e_, source.value, state);
            if (!e_.slots()[source.slot].contains(value)) throw Fault{"out of bounds"};
            state[source.slot] = value;
        }
    }

    // All combinations of enabled edges. `faulty`: some guard has no result.
    std::vector<std::vector<const EdgeSource *>> choices(const Vector &vector, const State &state, bool &faulty) const {
        std::vector<std::vector<const EdgeSource *>> result{{}};
        for (const std::uint32_t group : vector.groups) {
            std::vector<std::vector<const EdgeSource *>> longer;
            for (const EdgeSource &edge : drawn_.groups[group]) {
                const std::optional<bool> enabled = test::holds(e_, edge.guard, state);
                if (!enabled) faulty = true;
                if (!enabled.value_or(false)) continue;
                for (const auto &one : result) {
                    longer.push_back(one);
                    longer.back().push_back(&edge);
                }
            }
            result = std::move(longer);
        }
        return result;
    }

    std::vector<Step> fire(const Vector &vector, const State &state) const {
        std::vector<Step> result;
        bool faulty = false;
        const auto combinations = choices(vector, state, faulty);
        if (faulty) {
            result.emplace_back();
            (combinations.empty() ? result.back().open : result.back().faulty) = true;
            return result;
        }
        for (const std::vector<const EdgeSource *> &edges : combinations) {
            Step step;
            try {
                combine(edges, 0, {}, 1, state, step);
            } catch (const Fault &) {
                step.faulty = true;
            }
            // Whether the engine gets to the part with an error before an assignment disables the edge is its own business.
            step.open = step.open || (step.faulty && step.disabled);
            if (step.open) step.faulty = false;
            result.push_back(std::move(step));
        }
        return result;
    }

    // All combinations of possible destinations.
    void combine(const std::vector<const EdgeSource *> &edges, std::size_t i,
                 std::vector<const DestinationSource *> parts, double chance, const State &state, Step &step) const {
        if (i == edges.size()) {
            std::map<Word, std::vector<const AssignmentSource *>> levels;
            for (const DestinationSource *part : parts)
                for (const AssignmentSource &assignment : part->assignments)
                    levels[assignment.level].push_back(&assignment);
            try {
                assign(levels, levels.begin(), parts, chance, state, step);
            } catch (const Fault &) {
                step.faulty = true;
            }
            return;
        }
        std::vector<double> shares;
        double sum = 0;
        for (const DestinationSource &destination : edges[i]->destinations) {
            std::feclearexcept(FE_UNDERFLOW);
            shares.push_back(as_real(value_of(e_, destination.probability, state)));
            // The engine refuses a probability of 0 that may be one that is too small for a double.
            if (shares.back() == 0 && std::fetestexcept(FE_UNDERFLOW) != 0) step.open = true;
            if (shares.back() < 0) throw Fault{"negative"};
            sum += shares.back();
        }
        if (std::abs(sum - 1) > 1e-6) throw Fault{"the sum is not 1"};
        for (std::size_t k = 0; k < shares.size(); ++k) {
            if (shares[k] == 0) continue;
            parts.push_back(&edges[i]->destinations[k]);
            combine(edges, i + 1, parts, chance * shares[k], state, step);
            parts.pop_back();
        }
    }

    using Levels = std::map<Word, std::vector<const AssignmentSource *>>;

    // Level by level; all assignments of a level read the values before it.
    void assign(const Levels &levels, Levels::const_iterator level, const std::vector<const DestinationSource *> &parts,
                double chance, const State &state, Step &step) const {
        if (level == levels.end()) {
            State outcome = state;
            for (const DestinationSource *part : parts)
                for (const auto &[slot, location] : part->moves) outcome[slot] = location;
            outcome.resize(model_.slots().size());
            step.chances[outcome] += chance;
            return;
        }
        std::vector<SlotId> targets;
        std::vector<std::vector<Word>> options;
        bool inside = true, faulty = false;
        for (const AssignmentSource *one : level->second) {
            try {
                SlotId slot = one->slot;
                if (one->length > 0) slot += static_cast<SlotId>(value_of(e_, one->index, state));
                // Assigned twice. Its value may disable the edge all the same.
                if (std::find(targets.begin(), targets.end(), slot) != targets.end()) faulty = true;
                targets.push_back(slot);
                options.emplace_back();
                if (one->selects) {
                    for (const auto &[value, condition] : one->choices)
                        if (value_of(e_, condition, state) != 0) options.back().push_back(value);
                    if (options.back().empty()) throw Fault{"nothing to select"};
                    continue;
                }
                const Slot &variable = e_.slots()[slot];
                Word value = value_of(e_, one->value, state);
                if (variable.type == Type::real) value = stored_real(as_real(value));
                if (!variable.contains(value)) {
                    if (drawn_.out_of_bounds == OutOfBounds::error) throw Fault{"out of bounds"};
                    inside = false;
                }
                options.back().push_back(value);
            } catch (const Fault &) {
                faulty = true;
            }
        }
        step.disabled = step.disabled || !inside;
        step.faulty = step.faulty || faulty;
        if (faulty || !inside) return;
        std::vector<State> next{state};
        for (std::size_t k = 0; k < targets.size(); ++k) {
            std::vector<State> more;
            for (const State &one : next)
                for (const Word value : options[k]) {
                    more.push_back(one);
                    more.back()[targets[k]] = value;
                }
            next = std::move(more);
        }
        for (const State &one : next)
            assign(levels, std::next(level), parts, chance / static_cast<double>(next.size()), one, step);
    }

    const Drawn &drawn_;
    const Model &model_;
    const Expressions &e_;
};

class Claims {
   public:
    Claims(const std::shared_ptr<const Task> &task, const Drawn &drawn, test::Bytes &bytes)
        : task_(task),
          e_(task->model->expressions()),
          bytes_(bytes),
          definition_(drawn, *task->model),
          drawn_(drawn),
          engine_(task, bytes.below(2) ? 1 << 16 : 0) {}

    void check() {
        std::set<State> seen;
        std::vector<State> found;
        const auto meet = [&](const State &state) {
            if (found.size() < MOST_STATES && seen.insert(state).second) found.push_back(state);
        };
        for (int left = 1 + bytes_.below(3); left > 0; --left) meet(draw_state());
        const std::size_t drawn = found.size();
        for (std::size_t i = 0; i < found.size(); ++i)
            for (const State &outcome : check(found[i])) meet(outcome);
        check_space(found.front());
        if (found.size() > drawn) ++test::accepted;
    }

   private:
    State draw_state() {
        State state;
        for (const Slot &slot : task_->model->slots()) {
            if (slot.type == Type::real) {
                state.push_back(stored_real(bytes_.below(9) / 4.0 - 1));
            } else {
                const Word low = slot.bounded ? slot.range.low : -3, high = slot.bounded ? slot.range.high : 5;
                state.push_back(low + bytes_.below(static_cast<int>(high - low + 1)));
            }
        }
        return state;
    }
    State values(StateId id) const {
        State state(task_->model->slots().size());
        engine_.values(id, state.data());
        return state;
    }
    Definition::Result expected(State state) const {
        state.resize(e_.slots().size());
        return definition_.expand(state);
    }

    // The outcomes that the definition gives.
    std::set<State> check(const State &state) {
        const StateId id = engine_.intern(state.data());
        REQUIRE(values(id) == state && engine_.find(state.data()) == id);
        const Definition::Result wanted = expected(state);
        std::set<State> outcomes;
        if (wanted.open) return outcomes;
        const bool is_terminal = check_kind(id, state);
        try {
            check_labels(engine_.expand_raw(id), wanted);
            REQUIRE(!wanted.faulty);
        } catch (const ModelError &) {
            REQUIRE(wanted.faulty);
            return outcomes;
        }
        if (is_terminal) return outcomes;
        for (int left = 4; left > 0; --left) switch (bytes_.below(4)) {
                case 0: check_labels(engine_.expand(id), wanted); break;
                case 1: check_applicable(id, wanted); break;
                case 2: check_label(id, bytes_.below(engine_.label_count()), wanted); break;
                default: check_weighted(id, wanted);
            }
        REQUIRE(engine_.is_dead_end(id) == wanted.labels.empty());
        for (const auto &[label, own] : wanted.labels)
            for (const auto &[outcome, chance] : own) outcomes.insert(outcome);
        return outcomes;
    }

    // Whether nothing is to be compared beyond this state, also because a condition has no result.
    bool check_kind(StateId id, State state) {
        state.resize(e_.slots().size());
        const std::optional<bool> unsafe = test::holds(e_, drawn_.unsafe, state);
        const std::optional<bool> goal = unsafe == false ? test::holds(e_, drawn_.goal, state) : false;
        try {
            const bool is_unsafe = engine_.is_unsafe(id);
            REQUIRE(unsafe == is_unsafe && goal == engine_.is_goal(id));
        } catch (const ModelError &) {
            REQUIRE(!unsafe || !goal);
            return true;
        }
        const double distance = engine_.distance(id);
        REQUIRE(distance >= 0 && (distance == 0) == *unsafe);
        return *unsafe || *goal;
    }

    void check_labels(const Expansion &given, const Definition::Result &wanted) {
        const std::vector<LabelId> labels(given.labels.begin(), given.labels.end());
        std::vector<std::set<State>> outcomes;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            outcomes.emplace_back();
            for (const StateId outcome : given.of(i)) REQUIRE(outcomes.back().insert(values(outcome)).second);
        }
        if (wanted.faulty) return;
        REQUIRE(labels == labels_of(wanted));
        for (std::size_t i = 0; i < labels.size(); ++i) REQUIRE(outcomes[i] == states_of(wanted.labels.at(labels[i])));
    }
    static std::vector<LabelId> labels_of(const Definition::Result &wanted) {
        std::vector<LabelId> labels;
        for (const auto &[label, own] : wanted.labels) labels.push_back(label);
        return labels;
    }
    static std::set<State> states_of(const std::map<State, double> &chances) {
        std::set<State> states;
        for (const auto &[state, chance] : chances) states.insert(state);
        return states;
    }

    void check_applicable(StateId id, const Definition::Result &wanted) {
        const auto given = engine_.applicable(id);
        REQUIRE(std::vector<LabelId>(given.begin(), given.end()) == labels_of(wanted));
    }

    void check_label(StateId id, LabelId label, const Definition::Result &wanted) {
        const auto given = engine_.outcomes(id, label);
        const std::vector<StateId> ids(given.begin(), given.end());
        const auto found = wanted.labels.find(label);
        REQUIRE((found == wanted.labels.end()) == ids.empty());
        const auto weights = engine_.probabilities(id, label);
        REQUIRE(weights.size() == ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto one = found->second.find(values(ids[i]));
            REQUIRE(one != found->second.end() && std::abs(weights[i] - one->second) < 1e-6);
        }
        if (!ids.empty()) REQUIRE(ids.size() == found->second.size());
    }

    // Each edge is a distribution, and together they are the label's.
    void check_weighted(StateId id, const Definition::Result &wanted) {
        Weighted given;
        engine_.expand_weighted(id, given);
        REQUIRE(given.labels == labels_of(wanted));
        for (std::size_t l = 0; l < given.labels.size(); ++l) {
            std::map<State, double> chances;
            const double edges = given.edges_of[l + 1] - given.edges_of[l];
            for (std::uint32_t edge = given.edges_of[l]; edge < given.edges_of[l + 1]; ++edge) {
                double sum = 0;
                for (std::uint32_t o = given.outcomes_of[edge]; o < given.outcomes_of[edge + 1]; ++o) {
                    REQUIRE(given.weights[o] > 0);
                    chances[values(given.outcomes[o])] += given.weights[o] / edges;
                    sum += given.weights[o];
                }
                REQUIRE(std::abs(sum - 1) < 1e-6);
            }
            const std::map<State, double> &own = wanted.labels.at(given.labels[l]);
            REQUIRE(states_of(chances) == states_of(own));
            for (const auto &[state, chance] : own) REQUIRE(std::abs(chances[state] - chance) < 1e-6);
        }
    }

    // All that can be reached, if that is little and without errors.
    void check_space(const State &root) {
        std::set<State> seen{root};
        std::vector<State> found{root};
        for (std::size_t i = 0; i < found.size(); ++i) {
            State state = found[i];
            const Definition::Result wanted = expected(state);
            state.resize(e_.slots().size());
            const std::optional<bool> unsafe = test::holds(e_, drawn_.unsafe, state);
            const std::optional<bool> goal = unsafe == false ? test::holds(e_, drawn_.goal, state) : false;
            if (wanted.open || wanted.faulty || !unsafe || !goal || found.size() > MOST_STATES) return;
            if (*unsafe || *goal) continue;
            for (const auto &[label, own] : wanted.labels)
                for (const auto &[outcome, chance] : own)
                    if (seen.insert(outcome).second) found.push_back(outcome);
        }
        Space space(task_, {root}, Limits());
        REQUIRE(space.complete() && space.size() == found.size());
        State values(task_->model->slots().size());
        for (StateId s = 0; s < space.size(); ++s) {
            space.values(s, values.data());
            REQUIRE(seen.contains(values));
        }
    }

    const std::shared_ptr<const Task> task_;
    const Expressions &e_;
    test::Bytes &bytes_;
    const Definition definition_;
    const Drawn &drawn_;
    Engine engine_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    // What is asked of the engine comes first, so that a longer model does not change it.
    std::array<std::uint8_t, 32> choices{};
    for (std::uint8_t &byte : choices) byte = bytes.take<std::uint8_t>();
    ModelDrawer drawer(bytes);
    const Drawn drawn = drawer.draw();
    std::shared_ptr<const Task> task;
    try {
        const auto model =
            std::make_shared<Model>(drawer.take(), std::vector<std::string>{"a", "b"}, drawn.groups, drawn.vectors,
                                    drawn.transients, drawn.transient_values, drawn.out_of_bounds, drawn.silent);
        const auto scale = choices[0] % 2 ? Distance::Scale::none : Distance::Scale::l1;
        task = std::make_shared<const Task>(model, drawn.unsafe, "unsafe", drawn.goal, "goal", drawn.unsafe, scale,
                                            std::vector<std::vector<Word>>{}, "start");
    } catch (const ModelError &) {  // constant probabilities that are none
        return 0;
    }
    test::Bytes rest(choices.data(), choices.size());
    Claims(task, drawn, rest).check();
    return 0;
}
