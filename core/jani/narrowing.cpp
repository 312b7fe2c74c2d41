#include "jani/narrowing.h"

#include <algorithm>
#include <map>
#include <set>

namespace misstep::jani {

namespace {

__extension__ using Wide = __int128;
constexpr Word LOWEST = std::numeric_limits<Word>::min(), HIGHEST = std::numeric_limits<Word>::max();

Word clamped(Wide value) { return static_cast<Word>(std::clamp<Wide>(value, LOWEST, HIGHEST)); }

Wide floor_divided(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
Wide ceil_divided(Wide a, Wide b) { return -floor_divided(-a, b); }

bool is_thought_about(Op op) {
    switch (op) {
        case Op::constant:
        case Op::variable:
        case Op::element:
        case Op::conjunction:
        case Op::disjunction:
        case Op::negation:
        case Op::equal:
        case Op::not_equal:
        case Op::less:
        case Op::less_equal:
        case Op::add:
        case Op::subtract:
        case Op::multiply:
        case Op::minimum:
        case Op::maximum:
        case Op::ite: return true;
        default: return false;
    }
}

}  // namespace

Narrowing::Narrowing(const Expressions &expressions, const std::vector<ExprId> &conditions, std::vector<Interval> slots)
    : readers_(slots.size()), slots_(std::move(slots)), waits_(conditions.size(), false) {
    std::size_t most = 0;
    for (const ExprId whole : conditions) {
        // Expressions are numbered so that arguments come before operators.
        std::set<ExprId> found{whole};
        std::vector<ExprId> open{whole};
        while (!open.empty()) {
            const ExprId next = open.back();
            open.pop_back();
            for (const ExprId argument : expressions[next].arguments)
                if (argument != NO_EXPRESSION && found.insert(argument).second) open.push_back(argument);
        }
        std::map<ExprId, std::int32_t> places;
        Condition condition;
        for (const ExprId e : found) {
            const Expressions::Node &node = expressions[e];
            Part part{node.op,
                      is_thought_about(node.op) && node.type != Type::real,
                      node.type == Type::boolean,
                      node.word,
                      node.length,
                      {-1, -1, -1}};
            for (int k = 0; k < 3; ++k) {
                const ExprId argument = node.arguments[k];
                if (argument == NO_EXPRESSION) continue;
                part.arguments[k] = places.at(argument);
                part.known = part.known && expressions[argument].type != Type::real;
            }
            places[e] = static_cast<std::int32_t>(condition.parts.size());
            condition.parts.push_back(part);
        }
        for (const SlotId slot : expressions.support(whole))
            if (slot < readers_.size()) readers_[slot].push_back(static_cast<std::uint32_t>(conditions_.size()));
        most = std::max(most, condition.parts.size());
        understood_.push_back(
            std::all_of(condition.parts.begin(), condition.parts.end(), [](const Part &part) { return part.known; }));
        conditions_.push_back(std::move(condition));
    }
    possible_.resize(most);
}

bool Narrowing::start() {
    for (std::uint32_t i = 0; i < conditions_.size(); ++i) {
        waiting_.push_back(i);
        waits_[i] = true;
    }
    return settle();
}

bool Narrowing::restrict(SlotId slot, Interval interval) { return meet_slot(slot, interval) && settle(); }

void Narrowing::go_back(std::size_t mark) {
    while (trail_.size() > mark) {
        slots_[trail_.back().first] = trail_.back().second;
        trail_.pop_back();
    }
}

bool Narrowing::settle() {
    bool possible = true;
    while (!waiting_.empty()) {
        const std::uint32_t next = waiting_.back();
        waiting_.pop_back();
        waits_[next] = false;
        possible = possible && revise(conditions_[next]);  // after a failure the list is still emptied
    }
    return possible;
}

bool Narrowing::meet_slot(SlotId slot, const Interval &need) {
    const Interval old = slots_[slot];
    const Interval left{std::max(old.low, need.low), std::min(old.high, need.high)};
    if (left.low > left.high) return false;
    if (left == old) return true;
    trail_.emplace_back(slot, old);
    slots_[slot] = left;
    for (const std::uint32_t reader : readers_[slot])
        if (!waits_[reader]) {
            waits_[reader] = true;
            waiting_.push_back(reader);
        }
    return true;
}

bool Narrowing::revise(const Condition &condition) {
    for (std::size_t i = 0; i < condition.parts.size(); ++i) possible_[i] = forward(condition.parts[i]);
    const Interval whole = possible_[condition.parts.size() - 1];
    if (whole.fixed()) return whole.low == 1;  // it holds for all values that are left, or for none
    if (!meet(static_cast<std::int32_t>(condition.parts.size()) - 1, 1, 1)) return false;
    for (std::size_t i = condition.parts.size(); i-- > 0;)
        if (condition.parts[i].known && !backward(condition.parts[i], possible_[i])) return false;
    return true;
}

bool Narrowing::meet(std::int32_t part, Word low, Word high) {
    Interval &own = possible_[static_cast<std::size_t>(part)];
    own = {std::max(own.low, low), std::min(own.high, high)};
    return own.low <= own.high;
}

Narrowing::Interval Narrowing::forward(const Part &part) const {
    if (!part.known) return part.boolean ? Interval{0, 1} : Interval{LOWEST, HIGHEST};
    const auto of = [&](int k) { return possible_[static_cast<std::size_t>(part.arguments[k])]; };
    const auto truth = [](bool surely, bool never) { return Interval{surely, !never}; };
    switch (part.op) {
        case Op::constant: return {part.word, part.word};
        case Op::variable: {
            const auto slot = static_cast<std::size_t>(part.word);
            if (slot < slots_.size()) return slots_[slot];
            return part.boolean ? Interval{0, 1} : Interval{LOWEST, HIGHEST};  // a transient variable
        }
        case Op::element: {
            Interval all{HIGHEST, LOWEST};
            const Interval index = of(0);
            for (Word i = std::max<Word>(0, index.low); i <= std::min(index.high, part.length - 1); ++i) {
                const auto slot = static_cast<std::size_t>(part.word + i);
                if (slot >= slots_.size()) return part.boolean ? Interval{0, 1} : Interval{LOWEST, HIGHEST};
                all = {std::min(all.low, slots_[slot].low), std::max(all.high, slots_[slot].high)};
            }
            if (all.low <= all.high) return all;
            return part.boolean ? Interval{0, 1} : Interval{LOWEST, HIGHEST};
        }
        case Op::conjunction: return {of(0).low & of(1).low, of(0).high & of(1).high};
        case Op::disjunction: return {of(0).low | of(1).low, of(0).high | of(1).high};
        case Op::negation: return {1 - of(0).high, 1 - of(0).low};
        case Op::equal:
        case Op::not_equal: {
            const bool same = of(0).fixed() && of(0) == of(1), apart = of(0).high < of(1).low || of(1).high < of(0).low;
            return part.op == Op::equal ? truth(same, apart) : truth(apart, same);
        }
        case Op::less: return truth(of(0).high < of(1).low, of(0).low >= of(1).high);
        case Op::less_equal: return truth(of(0).high <= of(1).low, of(0).low > of(1).high);
        case Op::add: return {clamped(Wide{of(0).low} + of(1).low), clamped(Wide{of(0).high} + of(1).high)};
        case Op::subtract: return {clamped(Wide{of(0).low} - of(1).high), clamped(Wide{of(0).high} - of(1).low)};
        case Op::multiply: {
            const Wide a = Wide{of(0).low} * of(1).low, b = Wide{of(0).low} * of(1).high,
                       c = Wide{of(0).high} * of(1).low, d = Wide{of(0).high} * of(1).high;
            return {clamped(std::min(std::min(a, b), std::min(c, d))),
                    clamped(std::max(std::max(a, b), std::max(c, d)))};
        }
        case Op::minimum: return {std::min(of(0).low, of(1).low), std::min(of(0).high, of(1).high)};
        case Op::maximum: return {std::max(of(0).low, of(1).low), std::max(of(0).high, of(1).high)};
        case Op::ite:
            if (of(0).fixed()) return of(0).low != 0 ? of(1) : of(2);
            return {std::min(of(1).low, of(2).low), std::max(of(1).high, of(2).high)};
        default: return {LOWEST, HIGHEST};
    }
}

// Called from the root to the leaves: `need` is the interval that all larger parts leave for this one.
bool Narrowing::backward(const Part &part, const Interval &need) {
    const auto of = [&](int k) { return possible(part, k); };
    const auto must = [&](int k, Word low, Word high) { return meet(part.arguments[k], low, high); };
    switch (part.op) {
        case Op::variable:
            return static_cast<std::size_t>(part.word) >= slots_.size() ||
                   meet_slot(static_cast<SlotId>(part.word), need);
        case Op::element: {
            const Interval index = of(0);
            if (!index.fixed()) return true;
            const auto slot = static_cast<std::size_t>(part.word + index.low);
            return slot >= slots_.size() || meet_slot(static_cast<SlotId>(slot), need);
        }
        case Op::conjunction:
            if (need.low == 1) return must(0, 1, 1) && must(1, 1, 1);
            if (need.high == 0 && of(0).low == 1) return must(1, 0, 0);
            return need.high != 0 || of(1).low != 1 || must(0, 0, 0);
        case Op::disjunction:
            if (need.high == 0) return must(0, 0, 0) && must(1, 0, 0);
            if (need.low == 1 && of(0).high == 0) return must(1, 1, 1);
            return need.low != 1 || of(1).high != 0 || must(0, 1, 1);
        case Op::negation: return must(0, 1 - need.high, 1 - need.low);
        case Op::equal:
        case Op::not_equal: {
            if (!need.fixed()) return true;
            if ((need.low == 1) == (part.op == Op::equal)) {
                const Interval a = of(0), b = of(1);
                return must(0, b.low, b.high) && must(1, a.low, a.high);
            }
            for (const int k : {0, 1}) {  // the fixed value of the other side is removed at either end of the interval
                const Interval own = of(k), other = of(1 - k);
                if (!other.fixed()) continue;
                const Word low = own.low + (own.low == other.low && own.low < HIGHEST);
                const Word high = own.high - (own.high == other.low && own.high > LOWEST);
                if (!must(k, low, high)) return false;
            }
            return true;
        }
        case Op::less:
        case Op::less_equal: {
            if (!need.fixed()) return true;
            const int small = need.low == 1 ? 0 : 1, large = 1 - small;
            const Word step = (part.op == Op::less) == (need.low == 1);  // whether they must differ
            return must(small, LOWEST, clamped(Wide{of(large).high} - step)) &&
                   must(large, clamped(Wide{of(small).low} + step), HIGHEST);
        }
        case Op::add:
            return must(0, clamped(Wide{need.low} - of(1).high), clamped(Wide{need.high} - of(1).low)) &&
                   must(1, clamped(Wide{need.low} - of(0).high), clamped(Wide{need.high} - of(0).low));
        case Op::subtract:
            return must(0, clamped(Wide{need.low} + of(1).low), clamped(Wide{need.high} + of(1).high)) &&
                   must(1, clamped(Wide{of(0).low} - need.high), clamped(Wide{of(0).high} - need.low));
        case Op::multiply:
            for (const int k : {0, 1}) {
                const Interval factor = of(1 - k);
                if (!factor.fixed() || factor.low == 0) continue;
                const Wide f = factor.low, low = f > 0 ? need.low : need.high, high = f > 0 ? need.high : need.low;
                if (!must(k, clamped(ceil_divided(low, f)), clamped(floor_divided(high, f)))) return false;
            }
            return true;
        case Op::minimum: return must(0, need.low, HIGHEST) && must(1, need.low, HIGHEST);
        case Op::maximum: return must(0, LOWEST, need.high) && must(1, LOWEST, need.high);
        case Op::ite: {
            const auto fits = [&](int k) { return of(k).low <= need.high && of(k).high >= need.low; };
            if (!of(0).fixed()) {
                if (!fits(1) && !must(0, 0, 0)) return false;
                if (!fits(2) && !must(0, 1, 1)) return false;
            }
            if (!of(0).fixed()) return true;
            return must(of(0).low != 0 ? 1 : 2, need.low, need.high);
        }
        default: return true;
    }
}

}  // namespace misstep::jani
