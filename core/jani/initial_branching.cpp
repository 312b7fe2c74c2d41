// The part of InitialStates for conditions whose slots depend on each other: it branches on one slot at a time, the one
// with the fewest values left, and propagates all consequences before it chooses the next one.

#include <algorithm>

#include "jani/initial.h"

namespace misstep::jani {

namespace {

constexpr std::uint64_t BRANCHINGS_BETWEEN_ASKING = 1 << 8;

}  // namespace

// Real slots are not narrowed: in a search they have only one value.
void InitialStates::prepare_narrowing() {
    if (narrowing_) return;
    std::vector<ExprId> conditions;
    for (std::size_t i : rest_)
        if (expressions_[task_->start_conjuncts[i]].total) {
            conditions.push_back(task_->start_conjuncts[i]);
            narrowed_.push_back(i);
        }
    std::vector<Narrowing::Interval> slots;
    for (const Domain &domain : domains_) {
        if (domain.type == Type::real) slots.push_back({0, 0});
        else if (domain.listed) slots.push_back({domain.values.front(), domain.values.back()});
        else slots.push_back({domain.low, domain.high});
    }
    narrowing_.emplace(expressions_, conditions, std::move(slots));
    if (!narrowing_->start()) empty_ = true;
}

// The values of the domain of a slot that are left, as positions in the domain.
std::pair<std::uint64_t, std::uint64_t> InitialStates::left(SlotId slot) const {
    const Domain &domain = domains_[slot];
    const Narrowing::Interval &interval = (*narrowing_)[slot];
    if (!domain.listed)
        return {static_cast<std::uint64_t>(interval.low) - static_cast<std::uint64_t>(domain.low),
                static_cast<std::uint64_t>(interval.high) - static_cast<std::uint64_t>(domain.low) + 1};
    const auto first = std::lower_bound(domain.values.begin(), domain.values.end(), interval.low);
    const auto last = std::upper_bound(first, domain.values.end(), interval.high);
    return {static_cast<std::uint64_t>(first - domain.values.begin()),
            static_cast<std::uint64_t>(last - domain.values.begin())};
}

// The slot with the fewest values left, among those that have several; nothing if each has one. `dead` if some slot has none.
std::optional<SlotId> InitialStates::next_slot(bool &dead) const {
    std::optional<SlotId> best;
    std::uint64_t fewest = 0;
    dead = false;
    for (SlotId slot = 0; slot < width_; ++slot) {
        if (domains_[slot].type == Type::real) continue;
        const auto [first, last] = left(slot);
        if (first == last) {
            dead = true;
            return std::nullopt;
        }
        if ((*narrowing_)[slot].fixed()) continue;
        if (!best || last - first < fewest) {
            best = slot;
            fewest = last - first;
        }
    }
    return best;
}

// Whether the conditions that intervals cannot decide hold, as far as their slots are fixed.
bool InitialStates::passes() {
    for (std::size_t k = 0; k < narrowed_.size(); ++k) {
        if (narrowing_->understood(k)) continue;
        const std::vector<SlotId> &support = task_->start_tests[narrowed_[k]].support;
        const bool fixed = std::all_of(support.begin(), support.end(), [&](SlotId slot) {
            return domains_[slot].type != Type::real && (*narrowing_)[slot].fixed();
        });
        if (!fixed) continue;
        for (const SlotId slot : support) registers_[slot] = (*narrowing_)[slot].low;
        if (!holds(narrowed_[k])) return false;
    }
    return true;
}

bool InitialStates::complete() {
    for (SlotId slot = 0; slot < width_; ++slot)
        if (domains_[slot].type != Type::real) registers_[slot] = (*narrowing_)[slot].low;
    return std::all_of(rest_.begin(), rest_.end(), [&](std::size_t i) { return holds(i); });
}

std::optional<std::vector<std::uint64_t>> InitialStates::branch(std::uint64_t max_steps,
                                                                const std::function<bool()> &go_on) {
    struct Choice {
        SlotId slot;
        std::uint64_t next, last;
        std::size_t mark;
    };
    prepare_narrowing();
    std::vector<std::uint64_t> found;
    if (empty_) return found;
    for (SlotId slot = 0; slot < width_; ++slot)
        if (domains_[slot].type == Type::real) registers_[slot] = stored_real(domains_[slot].real_low);
    std::vector<Choice> choices;
    const std::size_t root = narrowing_->mark();
    std::uint64_t steps = 0;
    // Finds out whether this is a dead end or a solution, or which slot to branch on.
    const auto look = [&] {
        bool dead;
        const auto slot = next_slot(dead);
        if (dead || !passes()) return;
        if (slot) {
            const auto [first, last] = left(*slot);
            choices.push_back({*slot, first, last, narrowing_->mark()});
        } else if (complete()) {
            keep(registers_.data(), found);
        }
    };
    look();
    while (!choices.empty()) {
        Choice &choice = choices.back();
        narrowing_->go_back(choice.mark);
        if (choice.next == choice.last) {
            choices.pop_back();
            continue;
        }
        ++steps;
        const bool ask = steps % BRANCHINGS_BETWEEN_ASKING == 0;
        if (steps > max_steps || (ask && (is_too_much(found, max_steps) || (go_on && !go_on())))) {
            narrowing_->go_back(root);
            return std::nullopt;
        }
        const Word value = domains_[choice.slot].at(choice.next++);
        if (narrowing_->restrict(choice.slot, {value, value})) look();
    }
    return found;
}

// The conditions as tables; nothing if a slot has too many values, or infinitely many.
TableSearch *InitialStates::tables() {
    if (tables_tried_) return tables_ ? &*tables_ : nullptr;
    tables_tried_ = true;
    std::vector<std::vector<Word>> domains;
    for (const Domain &domain : domains_) {
        const std::uint64_t size = domain.size();
        if (size == 0 || size > TableSearch::MOST_VALUES) return nullptr;
        std::vector<Word> &values = domains.emplace_back();
        for (std::uint64_t i = 0; i < size; ++i)
            values.push_back(domain.type == Type::real ? stored_real(domain.real_low) : domain.at(i));
    }
    std::vector<TableSearch::Condition> conditions;
    for (std::size_t i : rest_)
        if (expressions_[task_->start_conjuncts[i]].total) conditions.push_back({i, task_->start_tests[i].support});
    tables_.emplace(std::move(domains), std::move(conditions), registers_.data(),
                    [this](std::size_t conjunct) { return holds(conjunct); });
    return &*tables_;
}

std::optional<std::vector<std::uint64_t>> InitialStates::branch_by_tables(std::uint64_t max_steps,
                                                                          const std::function<bool()> &go_on,
                                                                          bool hurry) {
    std::vector<std::size_t> partial;  // conditions that may have no result where an earlier one does not hold
    for (std::size_t i : rest_)
        if (!expressions_[task_->start_conjuncts[i]].total) partial.push_back(i);
    std::vector<std::uint64_t> found;
    const bool all = tables_->enumerate(
        max_steps,
        [&] {
            if (std::all_of(partial.begin(), partial.end(), [&](std::size_t i) { return holds(i); }))
                keep(registers_.data(), found);
        },
        [&] { return !is_too_much(found, max_steps) && (!go_on || go_on()); }, hurry);
    if (!all) return std::nullopt;
    return found;
}

// One solution: random values, one slot at a time, and another value where one leads to a dead end. Solutions in sparse regions
// are found more often than others.
bool InitialStates::descend(CounterRandom &random) {
    if (tables() != nullptr)
        return tables_->descend(random) &&
               std::all_of(rest_.begin(), rest_.end(), [&](std::size_t i) { return holds(i); });
    prepare_narrowing();
    const std::size_t root = narrowing_->mark();
    for (SlotId slot = 0; slot < width_; ++slot) {
        const Domain &domain = domains_[slot];
        if (domain.type != Type::real) continue;
        const double value = domain.real_low + (domain.real_high - domain.real_low) * random.real();
        registers_[slot] = stored_real(std::min(value, domain.real_high));
    }
    bool solved = false;
    for (;;) {
        bool dead;
        const auto slot = next_slot(dead);
        if (dead || !passes()) break;
        if (!slot) {
            solved = complete();
            break;
        }
        const auto [first, last] = left(*slot);
        const std::size_t mark = narrowing_->mark();
        const std::uint64_t size = last - first, start = random.below(size);
        bool moved = false;
        for (std::uint64_t k = 0; k < std::min<std::uint64_t>(size, MAX_RETRIES) && !moved; ++k) {
            const Word value = domains_[*slot].at(first + (start + k) % size);
            moved = narrowing_->restrict(*slot, {value, value});
            if (!moved) narrowing_->go_back(mark);
        }
        if (!moved) break;
    }
    narrowing_->go_back(root);
    return solved;
}

}  // namespace misstep::jani
