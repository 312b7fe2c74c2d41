// The part of the engine that executes edges: guards, probabilities, assignments.

#include <algorithm>
#include <cfenv>
#include <limits>
#include <utility>

#include "jani/engine.h"
#include "jani/operators.h"

namespace misstep::jani {

namespace {
constexpr std::size_t FEW = 24;  // outcomes of a label that are compared one by one
// Combinations of edges, destinations and chosen values of a label in one state. A small file can have 10^12 of them, and limits are
// only looked at between states.
constexpr std::size_t MOST_COMBINATIONS = 1'000'000;
constexpr std::size_t MOST_TRIED = 10'000'000;  // values that are tried for them: few of many may be chosen
}  // namespace

bool Engine::enabled(const Edge &edge) {
    where_ = edge.where;
    return model_.programs().holds(edge.guard, registers_.data());
}

bool Engine::enabled(const Vector &vector) {
    for (std::uint32_t g : vector.groups) {
        const Group &group = model_.groups()[g];
        const auto candidates = group.index.candidates(registers_.data());
        if (std::none_of(candidates.begin(), candidates.end(),
                         [&](std::uint32_t e) { return enabled(group.edges[e]); }))
            return false;
    }
    return true;
}

// The outcomes of a label are appended to `outcomes_`, each once.
void Engine::expand_label(LabelId label) {
    label_begin_ = outcomes_.size();
    stamped_ = false;
    combinations_ = tried_ = 0;
    for (const Vector &vector : model_.vectors()[label]) fire(vector);
    // The environment may move before the chosen label is executed.
    if (outcomes_.size() > label_begin_ || label == environment_label())
        for (const Vector &vector : model_.environment()) fire(vector);
}

// Whether an edge with this label can be taken. `outcomes_` is the same afterwards.
bool Engine::own_label(LabelId label) {
    const std::vector<Vector> &vectors = model_.vectors()[label];
    if (model_.out_of_bounds() == OutOfBounds::error)
        return std::any_of(vectors.begin(), vectors.end(), [&](const Vector &vector) { return enabled(vector); });
    const bool weighing = std::exchange(weighing_, false);
    label_begin_ = outcomes_.size();
    stamped_ = false;
    combinations_ = tried_ = 0;
    for (const Vector &vector : vectors) fire(vector);
    const bool any = outcomes_.size() > label_begin_;
    outcomes_.resize(label_begin_);
    stamped_ = false;
    weighing_ = weighing;
    return any;
}

void Engine::fire(const Vector &vector) {
    if (vector.groups.size() == 1) {
        const Group &group = model_.groups()[vector.groups.front()];
        for (std::uint32_t e : group.index.candidates(registers_.data()))
            if (enabled(group.edges[e])) fire_edge(group.edges[e]);
        return;
    }
    choices_.resize(std::max(choices_.size(), vector.groups.size()));
    for (std::size_t i = 0; i < vector.groups.size(); ++i) {
        const Group &group = model_.groups()[vector.groups[i]];
        choices_[i].clear();
        for (std::uint32_t e : group.index.candidates(registers_.data()))
            if (enabled(group.edges[e])) choices_[i].push_back(&group.edges[e]);
        if (choices_[i].empty()) return;
    }
    // All combinations of one enabled edge of each automaton.
    const std::size_t count = vector.groups.size();
    possible_.resize(std::max(possible_.size(), count));
    std::vector<std::size_t> at(count, 0);
    for (;;) {
        for (std::size_t i = 0; i < count; ++i) possible(*choices_[i][at[i]], possible_[i]);
        parts_.resize(count);
        fire_together();
        std::size_t i = 0;
        while (i < count && ++at[i] == choices_[i].size()) at[i++] = 0;
        if (i == count) return;
    }
}

// Whether a value of 0 may be an outcome that is only too unlikely for doubles: on the way there something has underflowed.
bool Engine::vanishes(const Program &program) {
    if (program.begin == Program::NO_CODE) return false;
    std::feclearexcept(FE_UNDERFLOW);
    model_.programs().run(program, registers_.data());
    return std::fetestexcept(FE_UNDERFLOW) != 0;
}

// The destinations of positive probability. Also checks the probabilities.
void Engine::possible(const Edge &edge, std::vector<const Destination *> &result) {
    result.clear();
    double sum = 0;
    for (const Destination &destination : edge.destinations) {
        where_ = destination.where;
        const double probability = as_real(model_.programs().run(destination.probability, registers_.data()));
        if (probability < 0)
            throw ModelError("the probability is negative: " + jani::text(Type::real, from_real(probability)),
                             model_.where(where_), "a probability from 0 to 1", PROBABILITY_HINT);
        sum += probability;
        if (probability > 0) result.push_back(&destination);
        else if (vanishes(destination.probability))
            throw ModelError("the probability is too small for a double, but not 0", model_.where(where_),
                             "a probability that does not underflow",
                             "write 0 if this outcome cannot happen, or a larger number");
    }
    if (!edge.certain) check_probability_sum(sum, model_.where(edge.where));
}

void Engine::fire_edge(const Edge &edge) {
    const std::size_t before = outcomes_.size();
    weights_before_.clear();
    if (edge.certain) {
        for (const Destination &destination : edge.destinations) {
            const Destination *const part = &destination;
            if (!add_successor({&part, 1})) return roll_back(before);
        }
        return end_edge();
    }
    possible_.resize(std::max<std::size_t>(possible_.size(), 1));
    possible(edge, possible_[0]);
    for (const Destination *part : possible_[0])
        if (!add_successor({&part, 1})) return roll_back(before);
    end_edge();
}

// All combinations of one possible destination of each edge.
void Engine::fire_together() {
    const std::size_t before = outcomes_.size();
    weights_before_.clear();
    const std::size_t count = parts_.size();
    std::vector<std::size_t> at(count, 0);
    for (;;) {
        for (std::size_t i = 0; i < count; ++i) parts_[i] = possible_[i][at[i]];
        if (!add_successor(parts_)) return roll_back(before);
        std::size_t i = 0;
        while (i < count && ++at[i] == possible_[i].size()) at[i++] = 0;
        if (i == count) return end_edge();
    }
}

void Engine::count_combination() {
    if (++combinations_ <= MOST_COMBINATIONS) return;
    throw ModelError("a label has more than 1,000,000 outcomes in one state", model_.where(where_),
                     "fewer edges, destinations and values of non-deterministic assignments that are combined");
}

// False: an assignment is out of bounds, and that disables the edge.
bool Engine::add_successor(std::span<const Destination *const> parts) {
    where_ = parts.front()->where;
    count_combination();
    if (weighing_) {
        weight_ = 1;
        for (const Destination *part : parts) {
            where_ = part->where;
            weight_ *= as_real(model_.programs().run(part->probability, registers_.data()));
        }
    }
    bool simple = true;
    std::int64_t level = 0;
    bool any = false;
    for (const Destination *part : parts) {
        if (part->selects) return add_selected(parts);
        simple = simple && part->simple && (!any || part->assignments.empty() || part->level == level);
        if (!part->assignments.empty()) {
            level = part->level;
            any = true;
        }
    }
    if (!(simple ? simple_successor(parts) : general_successor(parts))) return false;
    for (const Destination *part : parts)
        for (const auto &[slot, location] : part->moves) model_.layout().set(packed_.data(), slot, location);
    add_outcome();
    return true;
}

bool Engine::assignable(const Assignment &assignment, SlotId slot, Word &value) {
    const Slot &variable = model_.expressions().slots()[slot];
    if (variable.type == Type::real) value = stored_real(as_real(value));
    if (!assignment.checked || variable.contains(value)) return true;
    const Range &range = variable.range;
    const bool low = variable.type == Type::real ? as_real(value) < range.real_low : value < range.low;
    if (model_.out_of_bounds() == OutOfBounds::disable) return false;
    const Word bound = variable.type == Type::real ? from_real(low ? range.real_low : range.real_high)
                       : low                       ? range.low
                                                   : range.high;
    throw ModelError("the value " + jani::text(variable.type, value) + " of " + variable.name + " is " +
                         (low ? "below" : "above") + " its bound " + jani::text(variable.type, bound),
                     model_.where(assignment.where), "a value within bounds");
}

namespace {
std::vector<const Assignment *> by_level(std::span<const Destination *const> parts) {
    std::vector<const Assignment *> all;
    for (const Destination *part : parts)
        for (const Assignment &assignment : part->assignments) all.push_back(&assignment);
    std::stable_sort(all.begin(), all.end(),
                     [](const Assignment *a, const Assignment *b) { return a->level < b->level; });
    return all;
}

[[noreturn]] void assigned_twice(const Model &model, SlotId slot, WhereId where) {
    throw ModelError(model.expressions().slots()[slot].name + " is assigned twice at one index", model.where(where),
                     "one assignment of a variable at each index");
}
}  // namespace

void Engine::begin_level() {
    written_.resize(model_.expressions().slots().size(), 0);
    if (++level_ == 0) {
        std::fill(written_.begin(), written_.end(), 0);
        level_ = 1;
    }
}

void Engine::note_write(SlotId slot) {
    if (written_[slot] == level_) assigned_twice(model_, slot, where_);
    written_[slot] = level_;
}

// All assignments read the old state, so the new one is the old one with some fields replaced.
bool Engine::simple_successor(std::span<const Destination *const> parts) {
    std::copy_n(source_, packed_.size(), packed_.data());
    begin_level();
    for (const Destination *part : parts)
        for (const Assignment &assignment : part->assignments) {
            where_ = assignment.where;
            Word value = model_.programs().run(assignment.value, registers_.data());
            if (!assignable(assignment, assignment.slot, value)) return false;
            if (parts.size() > 1) note_write(assignment.slot);
            model_.layout().set(packed_.data(), assignment.slot, value);
        }
    return true;
}

// Level by level: the assignments of one level all read the values before the level, and then write together.
bool Engine::general_successor(std::span<const Destination *const> parts) {
    const std::size_t slots = model_.expressions().slots().size();
    saved_.assign(registers_.begin(), registers_.begin() + static_cast<std::ptrdiff_t>(slots));
    const std::vector<const Assignment *> all = by_level(parts);
    bool inside = true;
    for (std::size_t i = 0; i < all.size() && inside;) {
        const std::int64_t level = all[i]->level;
        writes_.clear();
        begin_level();
        for (; i < all.size() && all[i]->level == level && inside; ++i) {
            const Assignment &assignment = *all[i];
            where_ = assignment.where;
            SlotId slot = assignment.slot;
            if (assignment.length > 0) {
                slot += static_cast<SlotId>(model_.programs().run(assignment.index, registers_.data()));
            }
            Word value = model_.programs().run(assignment.value, registers_.data());
            inside = assignable(assignment, slot, value);
            note_write(slot);
            writes_.emplace_back(slot, value);
        }
        for (const auto &[slot, value] : writes_) registers_[slot] = value;
    }
    if (inside) model_.layout().pack(registers_.data(), packed_.data());
    std::copy(saved_.begin(), saved_.end(), registers_.begin());
    return inside;
}

// With non-deterministic assignments: all combinations of their values.
bool Engine::add_selected(std::span<const Destination *const> parts) {
    const std::vector<const Assignment *> all = by_level(parts);
    const std::size_t slots = model_.expressions().slots().size();
    saved_.assign(registers_.begin(), registers_.begin() + static_cast<std::ptrdiff_t>(slots));
    selections_.clear();
    shares_.clear();
    const bool inside = select(all, weight_);
    std::copy(saved_.begin(), saved_.end(), registers_.begin());
    if (!inside) return false;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        std::copy_n(selections_.data() + i * packed_.size(), packed_.size(), packed_.data());
        for (const Destination *part : parts)
            for (const auto &[slot, location] : part->moves) model_.layout().set(packed_.data(), slot, location);
        weight_ = shares_[i];
        add_outcome();
    }
    return true;
}

// Runs the assignments from the first level of `rest` on, once for each combination of values. The conditions on the values of one
// level are evaluated before the level, so that no choice depends on another one of the same level.
bool Engine::select(std::span<const Assignment *const> rest, double share) {
    if (rest.empty()) {
        count_combination();
        model_.layout().pack(registers_.data(), packed_.data());
        selections_.insert(selections_.end(), packed_.begin(), packed_.end());
        shares_.push_back(share);
        return true;
    }
    std::size_t count = 0;
    while (count < rest.size() && rest[count]->level == rest.front()->level) ++count;
    std::vector<std::vector<Word>> options(count);
    for (std::size_t i = 0; i < count; ++i)
        if (rest[i]->selects) {
            options[i] = selectable(*rest[i]);
            share /= static_cast<double>(options[i].size());
        }
    std::vector<SlotId> targets;
    begin_level();
    for (std::size_t i = 0; i < count; ++i) {
        const Assignment &assignment = *rest[i];
        where_ = assignment.where;
        SlotId slot = assignment.slot;
        if (assignment.length > 0)
            slot += static_cast<SlotId>(model_.programs().run(assignment.index, registers_.data()));
        if (!assignment.selects) {
            Word value = model_.programs().run(assignment.value, registers_.data());
            if (!assignable(assignment, slot, value)) return false;
            options[i] = {value};
        }
        where_ = assignment.where;
        note_write(slot);
        targets.push_back(slot);
    }
    std::vector<Word> before;
    for (SlotId slot : targets) before.push_back(registers_[slot]);
    std::vector<std::size_t> at(count, 0);
    bool inside = true;
    for (std::size_t i = 0; inside && i < count;) {
        for (std::size_t k = 0; k < count; ++k) registers_[targets[k]] = options[k][at[k]];
        inside = select(rest.subspan(count), share);
        for (i = 0; i < count && ++at[i] == options[i].size(); ++i) at[i] = 0;
    }
    for (std::size_t k = 0; k < count; ++k) registers_[targets[k]] = before[k];
    return inside;
}

// The values that a non-deterministic assignment can write.
std::vector<Word> Engine::selectable(const Assignment &assignment) {
    where_ = assignment.where;
    tried_ += assignment.choices.size();
    if (tried_ > MOST_TRIED)
        throw ModelError("a label has more than 10,000,000 values of non-deterministic assignments to try in one state",
                         model_.where(where_), "closer bounds of what is chosen, or fewer choices one after the other");
    std::vector<Word> result;
    for (const auto &[value, condition] : assignment.choices)
        if (model_.programs().run(condition, registers_.data()) != 0) result.push_back(value);
    if (result.empty())
        throw ModelError("no value satisfies the condition of a non-deterministic assignment", model_.where(where_),
                         "a condition that some value within the bounds satisfies",
                         "let the guard of the edge say when there is one");
    return result;
}

// Where an outcome is among those of the current label; the position behind them if it is new.
std::size_t Engine::position(StateId outcome) {
    if (!stamped_ && outcomes_.size() - label_begin_ < FEW)
        return static_cast<std::size_t>(
            std::find(outcomes_.begin() + static_cast<std::ptrdiff_t>(label_begin_), outcomes_.end(), outcome) -
            outcomes_.begin());
    if (stamps_.size() < registry_.size()) {
        stamps_.resize(std::max<std::size_t>(registry_.size(), stamps_.size() * 3 / 2), 0);
        positions_.resize(stamps_.size());
    }
    if (!stamped_) {
        stamped_ = true;
        if (++stamp_ == 0) {
            std::fill(stamps_.begin(), stamps_.end(), 0);
            stamp_ = 1;
        }
        for (std::size_t i = label_begin_; i < outcomes_.size(); ++i) note_position(i);
    }
    return stamps_[outcome] == stamp_ ? positions_[outcome] : outcomes_.size();
}

void Engine::note_position(std::size_t at) {
    stamps_[outcomes_[at]] = stamp_;
    positions_[outcomes_[at]] = static_cast<std::uint32_t>(at);
}

void Engine::add_outcome() {
    const StateId id = registry_.insert(packed_.data()).first;
    // A product of probabilities may underflow to 0, but the outcome is still possible, and whether a state can avoid unsafe
    // states for certain depends on it.
    const double weight = std::max(weight_, std::numeric_limits<double>::denorm_min());
    // When edges are kept apart, the weights of equal outcomes are not added, since the sum would be rounded.
    const std::size_t at = splitting_ ? outcomes_.size() : position(id);
    if (at < outcomes_.size()) {
        if (!weighing_) return;
        weights_before_.emplace_back(at, weights_[at]);
        weights_[at] += weight;
        return;
    }
    outcomes_.push_back(id);
    if (weighing_) weights_.push_back(weight);
    if (stamped_) note_position(at);
}

void Engine::roll_back(std::size_t size) {
    if (weighing_) {
        for (auto change = weights_before_.rbegin(); change != weights_before_.rend(); ++change)
            weights_[change->first] = change->second;
        weights_.resize(size);
    }
    if (stamped_)
        for (std::size_t i = size; i < outcomes_.size(); ++i) stamps_[outcomes_[i]] = 0;
    outcomes_.resize(size);
}

}  // namespace misstep::jani
