// The part of InitialStates that enumerates start states, depth-first over the slots.

#include <algorithm>
#include <tuple>

#include "base/registry.h"
#include "jani/initial.h"

namespace misstep::jani {

namespace {

__extension__ using Signed = __int128;

// The order in which slots get values: the next slot is the one that completes most conjuncts, with a small domain among equals.
std::vector<SlotId> search_order(const std::vector<std::vector<SlotId>> &supports,
                                 const std::vector<std::uint64_t> &sizes) {
    std::vector<SlotId> order;
    std::vector<bool> taken(sizes.size(), false);
    std::vector<std::size_t> missing;
    for (const auto &support : supports) missing.push_back(support.size());
    for (SlotId slot = 0; slot < sizes.size(); ++slot)
        if (sizes[slot] == 1) {
            taken[slot] = true;
            order.push_back(slot);
        }
    for (std::size_t c = 0; c < supports.size(); ++c)
        for (SlotId slot : supports[c]) missing[c] -= taken[slot];
    while (order.size() < sizes.size()) {
        std::vector<int> completes(sizes.size(), 0), mentioned(sizes.size(), 0);
        for (std::size_t c = 0; c < supports.size(); ++c)
            for (SlotId slot : supports[c])
                if (!taken[slot]) {
                    completes[slot] += missing[c] == 1;
                    mentioned[slot] = 1;
                }
        SlotId best = ~SlotId{0};
        for (SlotId slot = 0; slot < sizes.size(); ++slot) {
            if (taken[slot]) continue;
            const auto rank = [&](SlotId s) { return std::tuple(-completes[s], -mentioned[s], sizes[s]); };
            if (best == ~SlotId{0} || rank(slot) < rank(best)) best = slot;
        }
        taken[best] = true;
        order.push_back(best);
        for (std::size_t c = 0; c < supports.size(); ++c)
            missing[c] -= static_cast<std::size_t>(std::count(supports[c].begin(), supports[c].end(), best));
    }
    return order;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> InitialStates::enumerate(std::uint64_t max_steps,
                                                                   const std::function<bool()> &go_on) {
    if (empty_) return std::vector<std::uint64_t>();
    if (method_ == Method::enumerated) return *states_;
    if (method_ == Method::listed) {
        std::vector<std::uint64_t> result;
        StateRegistry seen(static_cast<int>(words_));
        for (std::size_t i = 0; i < states_->size(); i += words_)
            if (seen.insert(states_->data() + i).second)
                result.insert(result.end(), states_->data() + i, states_->data() + i + words_);
        return result;
    }
    if (infinite())
        throw ModelError("there are too many start states to list: a real variable is free", task_->start_where,
                         "a finite set of start states");
    const bool by_tables = method_ == Method::searched && tables() != nullptr;
    if (auto found = by_tables ? branch_by_tables(max_steps, go_on) : branch(max_steps, go_on)) return found;
    return search(max_steps, go_on);
}

std::optional<std::vector<std::uint64_t>> InitialStates::search(std::uint64_t max_steps,
                                                                const std::function<bool()> &go_on) {
    std::vector<std::vector<SlotId>> supports;
    for (std::size_t i : rest_) supports.push_back(task_->start_tests[i].support);
    std::vector<std::uint64_t> sizes;
    for (Domain &domain : domains_) {
        sizes.push_back(domain.size());
        if (domain.type == Type::real) {  // one value
            domain.values = {stored_real(domain.real_low)};
            domain.listed = true;
        }
    }
    const std::vector<SlotId> order = search_order(supports, sizes);
    std::vector<std::size_t> position(width_);
    for (std::size_t i = 0; i < width_; ++i) position[order[i]] = i;

    // A conjunct is tested as soon as its last slot has a value. One that may have no result is tested after all earlier ones.
    std::vector<std::vector<std::size_t>> tests(width_);
    std::size_t last_so_far = 0;
    for (std::size_t c = 0; c < rest_.size(); ++c) {
        std::size_t last = 0;
        for (SlotId slot : supports[c]) last = std::max(last, position[slot]);
        last_so_far = std::max(last_so_far, last);
        const bool total = expressions_[task_->start_conjuncts[rest_[c]]].total;
        tests[total ? last : last_so_far].push_back(rest_[c]);
    }

    // For each linear conjunct: the weight of the slot at each position, and what later slots can add at least and at most.
    struct Bound {
        Op op;
        std::vector<Word> weight;
        std::vector<Signed> least, most;
        std::vector<Signed> sum;
    };
    std::vector<Bound> bounds;
    for (const LinearConjunct &conjunct : linear_) {
        Bound bound{conjunct.op, std::vector<Word>(width_, 0), std::vector<Signed>(width_ + 1, 0),
                    std::vector<Signed>(width_ + 1, 0), std::vector<Signed>(width_ + 1, conjunct.form.constant)};
        for (const auto &[slot, weight] : conjunct.form.terms) bound.weight[position[slot]] = weight;
        for (std::size_t p = width_; p-- > 0;) {
            const Domain &domain = domains_[order[p]];
            const Word low = domain.listed ? *std::min_element(domain.values.begin(), domain.values.end()) : domain.low;
            const Word high =
                domain.listed ? *std::max_element(domain.values.begin(), domain.values.end()) : domain.high;
            const Signed weight = bound.weight[p];
            bound.least[p] = bound.least[p + 1] + (weight == 0 ? 0 : std::min(weight * low, weight * high));
            bound.most[p] = bound.most[p + 1] + (weight == 0 ? 0 : std::max(weight * low, weight * high));
        }
        bounds.push_back(std::move(bound));
    }

    std::vector<std::uint64_t> found;
    if (width_ == 0) {  // one state, without values
        if (std::all_of(rest_.begin(), rest_.end(), [&](std::size_t i) { return holds(i); }))
            keep(registers_.data(), found);
        return found;
    }
    std::vector<std::uint64_t> next(width_, 0);
    std::uint64_t steps = 0;
    std::size_t p = 0;
    for (;;) {
        if (next[p] == sizes[order[p]]) {
            if (p == 0) return found;
            next[p--] = 0;
            continue;
        }
        if (++steps > max_steps) return std::nullopt;
        if (steps % TableSearch::ASK_EVERY == 0 && go_on && !go_on()) return std::nullopt;
        const Word value = domains_[order[p]].at(next[p]++);
        registers_[order[p]] = value;
        bool feasible = true;
        for (Bound &bound : bounds) {
            bound.sum[p + 1] = bound.sum[p] + static_cast<Signed>(bound.weight[p]) * value;
            const Signed least = bound.sum[p + 1] + bound.least[p + 1], most = bound.sum[p + 1] + bound.most[p + 1];
            feasible = feasible && least <= 0 && (bound.op == Op::less_equal || most >= 0);
        }
        if (!feasible || !std::all_of(tests[p].begin(), tests[p].end(), [&](std::size_t i) { return holds(i); }))
            continue;
        if (p + 1 == width_) keep(registers_.data(), found);
        else ++p;
    }
}

}  // namespace misstep::jani
