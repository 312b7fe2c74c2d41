#include "jani/model.h"

#include <algorithm>
#include <cmath>

namespace misstep::jani {

namespace {

constexpr double PROBABILITY_TOLERANCE = 1e-6;

std::vector<Slot> state_slots(const Expressions &expressions) {
    std::vector<Slot> result;
    for (const Slot &slot : expressions.slots())
        if (!slot.transient) result.push_back(slot);
    return result;
}

}  // namespace

void check_probability_sum(double sum, const std::string &where) {
    if (!(std::abs(sum - 1) <= PROBABILITY_TOLERANCE))
        throw ModelError("the probabilities of the destinations sum to " + text(Type::real, from_real(sum)), where,
                         "a sum of 1", PROBABILITY_HINT);
}

Model::Model(std::unique_ptr<Expressions> expressions, std::vector<std::string> labels,
             std::vector<std::vector<EdgeSource>> groups, std::vector<Vector> vectors,
             std::vector<TransientSource> transients, const std::vector<TransientValueSource> &transient_values,
             OutOfBounds out_of_bounds, Silent silent)
    : expressions_(std::move(expressions)),
      slots_(state_slots(*expressions_)),
      layout_(slots_),
      programs_(*expressions_),
      labels_(std::move(labels)),
      transients_(std::move(transients)),
      out_of_bounds_(out_of_bounds) {
    for (const TransientValueSource &source : transient_values)
        transient_values_.push_back({source.location, source.slot, programs_.value(source.value), place(source.where)});
    for (const std::vector<EdgeSource> &sources : groups) {
        Group group;
        std::vector<std::vector<Key>> keys;
        for (const EdgeSource &source : sources) {
            const std::vector<ExprId> conjuncts = expressions_->conjuncts(source.guard);
            Edge edge = compile(source);
            edge.guard = programs_.condition(conjuncts);
            if (edge.guard.never) continue;
            keys.push_back(equalities(*expressions_, conjuncts));
            group.edges.push_back(std::move(edge));
        }
        group.index = EdgeIndex(*expressions_, keys);
        groups_.push_back(std::move(group));
    }
    const bool has_silent =
        std::any_of(vectors.begin(), vectors.end(), [](const Vector &v) { return v.label == SILENT; });
    LabelId silent_label = SILENT;
    if (has_silent && silent == Silent::step) {
        if (std::find(labels_.begin(), labels_.end(), "τ") != labels_.end())
            throw ModelError("an action is called τ, as the steps of the environment are", "actions",
                             "another name of the action", "--silent as-action takes both as one label", true);
        environment_label_ = static_cast<LabelId>(labels_.size());
        labels_.push_back("τ");
    }
    if (has_silent && silent == Silent::as_action) {
        const auto found = std::find(labels_.begin(), labels_.end(), "τ");
        silent_label = static_cast<LabelId>(found - labels_.begin());
        if (found == labels_.end()) labels_.push_back("τ");
    }
    vectors_.resize(labels_.size());
    for (Vector &vector : vectors) {
        // A vector with an empty group can never fire.
        if (std::any_of(vector.groups.begin(), vector.groups.end(),
                        [&](std::uint32_t g) { return groups_[g].edges.empty(); }))
            continue;
        const LabelId label = vector.label == SILENT ? silent_label : vector.label;
        std::vector<Vector> &own = label != SILENT ? vectors_[label] : silent == Silent::step ? environment_ : refused_;
        own.push_back(std::move(vector));
    }
}

WhereId Model::place(std::string where) {
    places_.push_back(std::move(where));
    return static_cast<WhereId>(places_.size() - 1);
}

Edge Model::compile(const EdgeSource &source) {
    Edge edge{{}, {}, true, place(source.where)};
    double sum = 0;
    for (const DestinationSource &destination : source.destinations) {
        if (!expressions_->is_constant(destination.probability)) {
            edge.certain = false;
            continue;
        }
        const double probability = as_real((*expressions_)[destination.probability].word);
        if (probability < 0)
            throw ModelError("the probability is negative: " + text(Type::real, from_real(probability)),
                             destination.where, "a probability from 0 to 1", PROBABILITY_HINT);
        sum += probability;
    }
    if (edge.certain) check_probability_sum(sum, source.where);
    for (const DestinationSource &destination : source.destinations)
        if (!expressions_->is_constant(destination.probability) ||
            as_real((*expressions_)[destination.probability].word) > 0)
            edge.destinations.push_back(compile(destination));
    return edge;
}

Destination Model::compile(const DestinationSource &source) {
    Destination result{programs_.value(source.probability), place(source.where), source.moves, {}, true, 0};
    for (const AssignmentSource &assignment : source.assignments) {
        const Slot &slot = expressions_->slots()[assignment.slot];
        const Range &range = expressions_->range(assignment.value);
        const bool inside = slot.type == Type::real
                                ? slot.range.real_low <= range.real_low && range.real_high <= slot.range.real_high
                                : slot.range.low <= range.low && range.high <= slot.range.high;
        result.assignments.push_back({assignment.slot,
                                      static_cast<std::uint32_t>(assignment.length),
                                      assignment.index == NO_EXPRESSION ? Program{} : programs_.value(assignment.index),
                                      programs_.value(assignment.value),
                                      assignment.level,
                                      !inside,
                                      place(assignment.where),
                                      assignment.selects,
                                      {}});
        if (assignment.length > 0 || slot.transient) result.simple = false;
        if (assignment.selects) {
            result.selects = true;
            result.simple = false;
            for (const auto &[value, condition] : assignment.choices)
                result.assignments.back().choices.emplace_back(value, programs_.value(condition));
        }
    }
    std::stable_sort(result.assignments.begin(), result.assignments.end(),
                     [](const Assignment &a, const Assignment &b) { return a.level < b.level; });
    if (!result.assignments.empty()) {
        result.level = result.assignments.front().level;
        if (result.assignments.back().level != result.level) result.simple = false;
    }
    return result;
}

namespace {

std::string first_values(const std::vector<Slot> &slots, const Word *values, std::size_t most) {
    std::string result;
    for (SlotId slot = 0; slot < slots.size() && slot < most; ++slot)
        result += (slot == 0 ? "" : ", ") + slots[slot].name + "=" + text(slots[slot].type, values[slot]);
    return result;
}

constexpr std::size_t SHOWN = 6;

}  // namespace

std::string Model::state_text(const Word *values) const { return first_values(slots_, values, slots_.size()); }

std::string Model::state_excerpt(const Word *values) const {
    std::string result = first_values(slots_, values, SHOWN);
    if (slots_.size() > SHOWN) result += ", and " + std::to_string(slots_.size() - SHOWN) + " more variables";
    return result;
}

std::optional<std::string> Model::objection(const Word *values) const {
    for (SlotId i = 0; i < slots_.size(); ++i)
        if (!slots_[i].contains(values[i]))
            return slots_[i].name + " = " + text(slots_[i].type, values[i]) + " is outside its bounds";
    return std::nullopt;
}

}  // namespace misstep::jani
