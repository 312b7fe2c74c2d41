#include "heuristics/lmcut.h"

#include <algorithm>

#include "base/interrupt.h"

namespace misstep {

namespace {
// Turns pairs (key, value) into a compressed table: values of key k at [offsets[k], offsets[k + 1]), in order.
void group(std::size_t keys, const std::vector<std::pair<std::uint32_t, std::uint32_t>> &pairs,
           std::vector<std::uint32_t> &offsets, std::vector<std::uint32_t> &values) {
    offsets.assign(keys + 1, 0);
    values.resize(pairs.size());
    for (const auto &[key, value] : pairs) ++offsets[key + 1];
    for (std::size_t k = 0; k < keys; ++k) offsets[k + 1] += offsets[k];
    std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
    for (const auto &[key, value] : pairs) values[next[key]++] = value;
}

template <class T>
std::size_t bytes_of(const std::vector<T> &vector) {
    return vector.capacity() * sizeof(T);
}
}  // namespace

LMCut::LMCut(const Task &task) : fact_offsets_(task.fact_offsets().begin(), task.fact_offsets().end()) {
    task.refuse_conditional_effects("LM-cut");
    task.refuse_axioms("LM-cut");
    const auto always_true = static_cast<FactId>(task.fact_count());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> needed_by, achievers;
    for (OperatorId id = 0; id < task.operator_count(); ++id) {
        const auto op = static_cast<std::uint32_t>(id);
        Body body;
        body.first = static_cast<std::uint32_t>(bodies_.size());
        for (const Fact &fact : task.preconditions(id)) bodies_.push_back(static_cast<FactId>(task.fact_id(fact)));
        if (task.preconditions(id).empty()) bodies_.push_back(always_true);
        body.effects = static_cast<std::uint32_t>(bodies_.size());
        // An effect that is also a precondition adds nothing, and one edge to each fact is enough.
        for (const Fact &fact : task.effect_facts(id)) {
            const auto effect = static_cast<FactId>(task.fact_id(fact));
            if (std::find(bodies_.begin() + body.first, bodies_.end(), effect) == bodies_.end())
                bodies_.push_back(effect);
        }
        body.end = static_cast<std::uint32_t>(bodies_.size());
        for (std::uint32_t i = body.first; i < body.effects; ++i) needed_by.emplace_back(bodies_[i], op);
        for (std::uint32_t i = body.effects; i < body.end; ++i) achievers.emplace_back(bodies_[i], op);
        bodies_of_operators_.push_back(body);
        const auto cost = static_cast<Value>(task.cost(id));
        fresh_operators_.push_back({cost, NO_FACT, UNREACHED, body.effects - body.first});
    }
    facts_.resize(always_true + 1);
    group(facts_.size(), needed_by, needed_by_offsets_, needed_by_);
    group(facts_.size(), achievers, achiever_offsets_, achievers_);
    set_goal(task.goal());
}

void LMCut::set_goal(std::span<const Fact> goal) {
    goal_.clear();
    for (const Fact &fact : goal) goal_.push_back({static_cast<FactId>(fact_offsets_[fact.variable] + fact.value), 0});
}

Cost LMCut::evaluate(const int *values, Cost bound) {
    let_interrupt(HEAVIEST);
    return run(values, bound, [](Cost) { let_interrupt(HEAVIEST); });
}

Cost LMCut::evaluate_with_cuts(const int *values, const OnCut &on_cut) {
    std::vector<OperatorId> operators;
    return run(values, INFINITE_COST, [&](Cost charged) {
        operators.assign(cut_.begin(), cut_.end());
        std::sort(operators.begin(), operators.end());
        on_cut(operators, charged);
    });
}

template <class Found>
Cost LMCut::run(const int *values, Cost bound, Found &&found) {
    explore(values);
    goal_choices_ = 0;
    for (Goal &goal : goal_) goal.chosen = 0;
    find_goal_supporter();
    if (goal_value_ == UNREACHED) return INFINITE_COST;
    Cost result = 0;
    for (round_ = 1; goal_value_ > 0 && result < bound; ++round_) {
        mark_base_ = round_ * MARKS;
        find_zone();
        find_cut();
        Value cost = UNREACHED;
        for (std::uint32_t op : cut_) cost = std::min(cost, operators_[op].cost);
        result += cost;
        found(Cost{cost});
        charge(cost);
    }
    return result;
}

// Dijkstra over facts; the precondition that is reached last is the supporter.
void LMCut::explore(const int *values) {
    operators_ = fresh_operators_;
    std::fill(facts_.begin(), facts_.end(), FactData{UNREACHED, 0});
    FactData *const facts = facts_.data();
    const auto reach = [&](FactId fact, Value value) {
        if (value >= facts[fact].value) return;
        facts[fact].value = value;
        queue_.push(value, fact);
    };
    for (std::size_t v = 0; v + 1 < fact_offsets_.size(); ++v)
        reach(static_cast<FactId>(fact_offsets_[v] + values[v]), 0);
    reach(static_cast<FactId>(facts_.size() - 1), 0);
    while (!queue_.empty()) {
        const auto [value, fact] = queue_.pop();
        if (value > facts_[fact].value) continue;
        for (std::uint32_t id : needed_by(fact)) {
            Operator &op = operators_[id];
            if (--op.counter > 0) continue;
            op.supporter = fact;
            op.supporter_value = value;
            const Value target = add(value, op.cost);
            for (FactId effect : effects(id)) reach(effect, target);
        }
    }
}

// Chooses, among the most expensive goal facts, the one that was chosen longest ago, since cuts for different goal facts
// share fewer operators.
void LMCut::find_goal_supporter() {
    goal_value_ = 0;
    Goal *best = nullptr;
    for (Goal &goal : goal_) {
        const Value value = facts_[goal.fact].value;
        if (value < goal_value_ || (value == goal_value_ && best && goal.chosen >= best->chosen)) continue;
        goal_value_ = value;
        best = &goal;
    }
    if (!best) return;
    goal_supporter_ = best->fact;
    best->chosen = ++goal_choices_;
}

// Searches backwards from the goal through operators of cost 0. The other operators that lead into the zone are
// candidates for the cut.
void LMCut::find_zone() {
    zone_.clear();
    candidates_.clear();
    zone_.push_back(goal_supporter_);
    mark(goal_supporter_, IN_ZONE);
    while (!zone_.empty()) {
        const FactId fact = zone_.back();
        zone_.pop_back();
        for (std::uint32_t id : achievers(fact)) {
            Operator &op = operators_[id];
            if (op.supporter == NO_FACT || op.counter == round_) continue;
            op.counter = round_;
            if (op.cost > 0) {
                candidates_.push_back(id);
            } else if (!marked(op.supporter, IN_ZONE)) {
                mark(op.supporter, IN_ZONE);
                zone_.push_back(op.supporter);
            }
        }
    }
}

// The candidates whose supporter can be reached without entering the zone.
void LMCut::find_cut() {
    cut_.clear();
    undecided_.clear();
    for (std::uint32_t op : candidates_) {
        const FactId supporter = operators_[op].supporter;
        if (facts_[supporter].value < goal_value_ || marked(supporter, BEFORE_ZONE)) {
            cut_.push_back(op);
        } else if (marked(supporter, OPEN)) {
            undecided_.push_back(op);
        } else if (!marked(supporter, IN_ZONE)) {
            mark(supporter, OPEN);
            open_.push_back(supporter);
            undecided_.push_back(op);
        }
    }
    if (undecided_.empty()) return;
    settle_open_facts();
    for (std::uint32_t op : undecided_)
        if (marked(operators_[op].supporter, BEFORE_ZONE)) cut_.push_back(op);
}

// Decides which open facts some path reaches without entering the zone, and without operators that have another
// effect in the zone: those are in the cut themselves if they are reached, so what comes after them need not be.
// Collects backwards the part of the justification graph that matters, as far as facts that are certainly before
// the zone, and then follows its edges forwards.
void LMCut::settle_open_facts() {
    open_edges_.clear();
    while (!open_.empty()) {
        const FactId fact = open_.back();
        open_.pop_back();
        const std::size_t first_edge = open_edges_.size();
        for (std::uint32_t id : achievers(fact)) {
            const Operator &op = operators_[id];
            const FactId supporter = op.supporter;
            if (supporter == NO_FACT || op.counter == round_ || marked(supporter, IN_ZONE)) continue;
            if (facts_[supporter].value < goal_value_ || marked(supporter, BEFORE_ZONE)) {
                mark(fact, BEFORE_ZONE);
                break;
            }
            open_edges_.emplace_back(supporter, fact);
        }
        if (marked(fact, BEFORE_ZONE)) {
            open_edges_.resize(first_edge);
            continue;
        }
        for (std::size_t e = first_edge; e < open_edges_.size(); ++e)
            if (!marked(open_edges_[e].first, OPEN)) {
                mark(open_edges_[e].first, OPEN);
                open_.push_back(open_edges_[e].first);
            }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t e = open_edges_.size(); e-- > 0;) {
            const auto &[from, to] = open_edges_[e];
            if (!marked(from, BEFORE_ZONE) || marked(to, BEFORE_ZONE)) continue;
            mark(to, BEFORE_ZONE);
            changed = true;
        }
    }
}

// Takes the cost off the operators of the cut and propagates what that changes, up to the value of the goal.
void LMCut::charge(Value cost) {
    FactData *const facts = facts_.data();
    Operator *const operators = operators_.data();
    Value limit = goal_value_;
    const auto reach = [&](FactId fact, Value value) {
        if (value >= facts[fact].value) return;
        facts[fact].value = value;
        if (value < limit) queue_.push(value, fact);
    };
    for (std::uint32_t id : cut_) {
        Operator &op = operators[id];
        op.cost -= cost;
        const Value target = add(op.supporter_value, op.cost);
        for (FactId effect : effects(id)) reach(effect, target);
    }
    while (!queue_.empty()) {
        const auto [value, fact] = queue_.pop();
        if (value >= limit) break;
        if (value > facts[fact].value) continue;
        if (fact == goal_supporter_) {
            find_goal_supporter();
            limit = goal_value_;
        }
        for (std::uint32_t id : needed_by(fact)) {
            Operator &op = operators[id];
            if (op.supporter != fact || op.supporter_value <= value) continue;
            // A supporter whose value fell is replaced by an equally expensive precondition, for the same reason as with
            // goal facts.
            Value highest = value;
            FactId supporter = fact;
            for (FactId precondition : preconditions(id))
                if (facts[precondition].value >= highest) {
                    highest = facts[precondition].value;
                    supporter = precondition;
                }
            op.supporter = supporter;
            if (highest >= op.supporter_value) continue;
            op.supporter_value = highest;
            const Value target = add(highest, op.cost);
            for (FactId effect : effects(id)) reach(effect, target);
        }
    }
    queue_.clear();
}

std::size_t LMCut::bytes() const {
    return bytes_of(fact_offsets_) + bytes_of(goal_) + bytes_of(operators_) + bytes_of(fresh_operators_) +
           bytes_of(bodies_of_operators_) + bytes_of(bodies_) + bytes_of(facts_) + bytes_of(needed_by_offsets_) +
           bytes_of(needed_by_) + bytes_of(achiever_offsets_) + bytes_of(achievers_) + queue_.bytes() +
           bytes_of(zone_) + bytes_of(candidates_) + bytes_of(undecided_) + bytes_of(cut_) + bytes_of(open_) +
           bytes_of(open_edges_);
}

}  // namespace misstep
