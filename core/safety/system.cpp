#include "safety/system.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace misstep::safety {

void Transitions::labels(StateId id, std::vector<LabelId> &result) {
    Expansion expansion;
    expand(id, expansion);
    result = std::move(expansion.labels);
}

void Transitions::outcomes(StateId id, LabelId label, std::vector<StateId> &result) {
    Expansion expansion;
    expand(id, expansion);
    result.clear();
    for (std::size_t i = 0; i < expansion.labels.size(); ++i)
        if (expansion.labels[i] == label)
            result.insert(result.end(), expansion.outcomes.begin() + expansion.offsets[i],
                          expansion.outcomes.begin() + expansion.offsets[i + 1]);
}

void Transitions::probabilities(StateId, LabelId, std::vector<StateId> &, std::vector<double> &) {
    throw ModelError("the model has no probabilities");
}

System::System(std::shared_ptr<Transitions> transitions, std::shared_ptr<LabelPolicy> policy, Rules rules)
    : transitions_(std::move(transitions)), policy_(std::move(policy)), rules_(rules) {}

void System::set_policy(std::shared_ptr<LabelPolicy> policy) {
    policy_ = std::move(policy);
    ++policy_version_;
    decisions_.clear();
    steps_.clear();
    rankings_.clear();
    policy_arena_.clear();
}

Kind System::classify(StateId id) {
    const std::uint8_t flags = transitions_->flags(id);
    if (flags & UNSAFE) return kinds_.at(id) = Kind::unsafe;
    if (flags & GOAL) return kinds_.at(id) = Kind::goal;
    if (rules_.dead_ends == DeadEnds::safe) return kinds_.at(id) = Kind::open;
    // Whether the state has a label decides whether it is unsafe or an error, so this cannot wait until it is expanded.
    transitions_->labels(id, labels_);
    if (labels_.empty()) {
        found_dead_end(id);
        return kinds_[id];
    }
    return kinds_.at(id) = Kind::open;
}

void System::found_dead_end(StateId id) {
    if (rules_.dead_ends == DeadEnds::error) throw ModelError("no label applies in " + transitions_->describe(id));
    kinds_.at(id) = rules_.dead_ends == DeadEnds::unsafe ? Kind::unsafe : Kind::dead_end;
}

// Outcomes are a set: duplicates are dropped.
std::uint32_t System::put_outcomes(std::span<const StateId> outcomes, std::uint32_t *to) {
    seen_.clear();
    std::uint32_t count = 0;
    for (StateId outcome : outcomes)
        if (seen_.insert(outcome)) to[count++] = outcome;
    return count;
}

const std::uint32_t *System::expand(StateId id) {
    expansion_.clear();
    transitions_->expand(id, expansion_);
    ++expanded_;
    const std::size_t count = expansion_.labels.size();
    record_.resize(2 + 2 * count + expansion_.outcomes.size());
    record_[0] = static_cast<std::uint32_t>(count);
    std::uint32_t *offsets = record_.data() + 1 + count;
    std::uint32_t *targets = offsets + count + 1;
    offsets[0] = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const LabelId label = expansion_.labels[i];
        // With two entries of one label, code that looks for the first entry would miss some of its outcomes.
        if (label < 0 ||
            std::find(expansion_.labels.begin(), expansion_.labels.begin() + i, label) != expansion_.labels.begin() + i)
            throw ModelError("a label stands twice, or is none, in " + transitions_->describe(id));
        record_[1 + i] = static_cast<std::uint32_t>(label);
        const std::span<const StateId> outcomes(expansion_.outcomes.data() + expansion_.offsets[i],
                                                expansion_.outcomes.data() + expansion_.offsets[i + 1]);
        if (outcomes.empty())
            throw ModelError(transitions_->label_name(label) + " has no outcome in " + transitions_->describe(id));
        offsets[i + 1] = offsets[i] + put_outcomes(outcomes, targets + offsets[i]);
    }
    if (count == 0) found_dead_end(id);
    const std::size_t size = 2 + 2 * count + offsets[count];
    std::uint32_t *record = arena_.allocate(size);
    std::copy_n(record_.data(), size, record);
    return expansions_.at(id) = record;
}

LabelId System::ask(StateId id) {
    if (expansions_[id] == nullptr && transitions_->is_partial()) {
        transitions_->labels(id, labels_);
        if (labels_.empty()) found_dead_end(id);
        return labels_.empty() ? NO_LABEL : ask(id, labels_);
    }
    const Actions known = actions(id);
    labels_.clear();
    for (std::uint32_t i = 0; i < known.count(); ++i) labels_.push_back(known.label(i));
    return labels_.empty() ? NO_LABEL : ask(id, labels_);
}

LabelId System::ask(StateId id, std::span<const LabelId> applicable) {
    if (is_environments(applicable)) return decisions_.at(id) = applicable.front();
    if (policy_ == nullptr) throw PolicyError("the system has no policy");
    // The policy gets a copy of the list, since it may ask this system about other states meanwhile (a shield does).
    const std::vector<LabelId> lent(applicable.begin(), applicable.end());
    LabelId label = policy_->choose(id, lent);
    ++policy_calls_;
    if (std::find(lent.begin(), lent.end(), label) == lent.end()) {
        const bool stops = rules_.inapplicable == Inapplicable::stop_safe;
        const bool filters = rules_.inapplicable == Inapplicable::filter && policy_->has_values();
        const LabelId better = filters ? best_valued(id, lent) : NO_LABEL;
        if (!stops && better == NO_LABEL)
            throw PolicyError(
                (label == NO_LABEL
                     ? "the policy names no label"
                     : "the policy names " + transitions_->label_name(label) + ", which does not apply,") +
                " in " + transitions_->describe(id) + "; expected a label that applies there: " + names(lent));
        label = better;
    }
    return decisions_.at(id) = label;
}

std::string System::names(std::span<const LabelId> labels) const {
    constexpr std::size_t shown = 6;
    std::string text;
    for (LabelId label : labels.first(std::min(labels.size(), shown)))
        text += (text.empty() ? "" : ", ") + transitions_->label_name(label);
    return text + (labels.size() > shown ? ", ..." : "");
}

LabelId System::best_valued(StateId id, std::span<const LabelId> applicable) {
    values_.assign(applicable.size(), 0);
    policy_->values(id, applicable, values_);
    const auto best = std::max_element(values_.begin(), values_.end());
    // A policy that knows none of these labels gives them all the value minus infinity.
    if (*best == -std::numeric_limits<double>::infinity()) return NO_LABEL;
    return applicable[static_cast<std::size_t>(best - values_.begin())];
}

std::span<const StateId> System::policy_outcomes(StateId id) {
    const std::uint32_t *step = steps_[id];
    if (step == nullptr) {
        const LabelId label = decision(id);
        if (const std::uint32_t *record = expansions_[id]; record != nullptr) {
            const Actions known(record);
            for (std::uint32_t i = 0; i < known.count(); ++i)
                if (known.label(i) == label) return known.outcomes(i);
            return {};
        }
        outcomes_.clear();
        if (label != NO_LABEL) {
            transitions_->outcomes(id, label, outcomes_);
            ++expanded_;
            if (outcomes_.empty())
                throw ModelError(transitions_->label_name(label) + " has no outcome in " + transitions_->describe(id));
        }
        record_.resize(1 + outcomes_.size());
        record_[0] = put_outcomes(outcomes_, record_.data() + 1);
        std::uint32_t *record = policy_arena_.allocate(1 + record_[0]);
        std::copy_n(record_.data(), 1 + record_[0], record);
        step = steps_.at(id) = record;
    }
    return {step + 1, step[0]};
}

Ranking System::by_distance(StateId id) {
    const std::uint32_t *order = safest_[id];
    if (order == nullptr) {
        const Actions known = actions(id);
        const std::uint32_t count = known.count();
        if (count == 1) return Ranking::declared();
        values_.assign(count, std::numeric_limits<double>::infinity());
        for (std::uint32_t i = 0; i < count; ++i)
            for (StateId outcome : known.outcomes(i)) values_[i] = std::min(values_[i], distance(outcome));
        std::uint32_t *fresh = arena_.allocate(count);
        std::iota(fresh, fresh + count, 0U);
        std::sort(fresh, fresh + count, [&](std::uint32_t a, std::uint32_t b) {
            return values_[a] != values_[b] ? values_[a] > values_[b] : a < b;
        });
        order = safest_.at(id) = fresh;
    }
    return Ranking::listed(order);
}

Ranking System::by_policy(StateId id) {
    if (policy_ == nullptr) return Ranking::declared();
    const Actions known = actions(id);
    if (known.count() == 1 && known.label(0) == transitions_->environment_label()) return Ranking::declared();
    const LabelId label = decision(id);
    std::uint32_t chosen = 0;
    while (chosen < known.count() && known.label(chosen) != label) ++chosen;
    if (!policy_->has_values()) return chosen == known.count() ? Ranking::declared() : Ranking::first(chosen);

    const std::uint32_t *order = rankings_[id];
    if (order == nullptr) {
        const std::uint32_t count = known.count();
        labels_.clear();
        for (std::uint32_t i = 0; i < count; ++i) labels_.push_back(known.label(i));
        values_.assign(count, 0);
        policy_->values(id, labels_, values_);
        std::uint32_t *fresh = policy_arena_.allocate(count);
        std::iota(fresh, fresh + count, 0U);
        std::stable_sort(fresh, fresh + count, [&](std::uint32_t a, std::uint32_t b) {
            if ((a == chosen) != (b == chosen)) return a == chosen;
            return values_[a] > values_[b];
        });
        order = rankings_.at(id) = fresh;
    }
    return Ranking::listed(order);
}

// Whether only the environment can move, so that no policy has to be prepared for the state.
bool System::waits(StateId id) {
    if (transitions_->environment_label() == NO_LABEL) return false;
    transitions_->labels(id, labels_);
    return is_environments(labels_);
}

void System::prepare(std::span<const StateId> ids) {
    if (policy_ == nullptr) return;
    outcomes_.clear();
    for (StateId id : ids)
        if (kind(id) == Kind::open && decisions_[id] == UNASKED && !waits(id)) outcomes_.push_back(id);
    if (!outcomes_.empty()) policy_->prepare(std::vector<StateId>(outcomes_));
}

std::size_t System::bytes() const {
    return kinds_.bytes() + decisions_.bytes() + expansions_.bytes() + steps_.bytes() + rankings_.bytes() +
           safest_.bytes() + arena_.bytes() + policy_arena_.bytes() + seen_.bytes();
}

}  // namespace misstep::safety
