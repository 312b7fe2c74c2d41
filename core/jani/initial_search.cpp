// The part of InitialStates that enumerates start states, depth-first over the slots.

#include <algorithm>
#include <set>
#include <tuple>

#include "base/registry.h"
#include "jani/initial.h"

namespace misstep::jani {

namespace {

__extension__ using Signed = __int128;

// The order in which slots get values: the next slot is the one that completes most conjuncts, with a small domain among equals.
// Slots that no conjunct reads come last.
std::vector<SlotId> search_order(const std::vector<std::vector<SlotId>> &supports,
                                 const std::vector<std::uint64_t> &sizes) {
    std::vector<SlotId> order, unread;
    std::vector<bool> taken(sizes.size(), false);
    std::vector<std::vector<std::uint32_t>> readers(sizes.size());
    std::vector<std::size_t> missing;
    for (std::size_t c = 0; c < supports.size(); ++c) {
        missing.push_back(supports[c].size());
        for (SlotId slot : supports[c]) readers[slot].push_back(static_cast<std::uint32_t>(c));
    }
    std::vector<int> completes(sizes.size(), 0);
    std::set<std::tuple<int, std::uint64_t, SlotId>> open;
    const auto rank = [&](SlotId slot) { return std::tuple(-completes[slot], sizes[slot], slot); };
    const auto last_of = [&](std::uint32_t c) {  // of a conjunct that misses one slot
        const auto slot = std::find_if(supports[c].begin(), supports[c].end(), [&](SlotId s) { return !taken[s]; });
        const bool listed = open.erase(rank(*slot)) > 0;
        ++completes[*slot];
        if (listed) open.insert(rank(*slot));
    };
    const auto take = [&](SlotId slot) {
        taken[slot] = true;
        order.push_back(slot);
        for (std::uint32_t c : readers[slot])
            if (--missing[c] == 1) last_of(c);
    };
    for (std::uint32_t c = 0; c < supports.size(); ++c)
        if (missing[c] == 1) last_of(c);
    for (SlotId slot = 0; slot < sizes.size(); ++slot)
        if (sizes[slot] == 1) take(slot);
    for (SlotId slot = 0; slot < sizes.size(); ++slot) {
        if (taken[slot]) continue;
        if (readers[slot].empty()) unread.push_back(slot);
        else open.insert(rank(slot));
    }
    while (!open.empty()) {
        const SlotId best = std::get<2>(*open.begin());
        open.erase(open.begin());
        take(best);
    }
    std::stable_sort(unread.begin(), unread.end(), [&](SlotId a, SlotId b) { return sizes[a] < sizes[b]; });
    order.insert(order.end(), unread.begin(), unread.end());
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

    // For each linear conjunct: what its terms from the k-th on can add at least and at most, and the sum of those before.
    struct Bound {
        Op op;
        std::vector<Signed> least, most;
        std::vector<Signed> sum;
        bool feasible(std::size_t k) const {
            return sum[k] + least[k] <= 0 && (op == Op::less_equal || sum[k] + most[k] >= 0);
        }
    };
    struct Term {
        std::size_t bound, number;
        Signed weight;
    };
    std::vector<Bound> bounds;
    std::vector<std::vector<Term>> terms(width_);  // at each position
    for (const LinearConjunct &conjunct : linear_) {
        std::vector<std::pair<std::size_t, Word>> own;
        for (const auto &[slot, weight] : conjunct.form.terms) own.emplace_back(position[slot], weight);
        std::sort(own.begin(), own.end());
        const std::size_t count = own.size();
        Bound bound{conjunct.op, std::vector<Signed>(count + 1, 0), std::vector<Signed>(count + 1, 0),
                    std::vector<Signed>(count + 1, conjunct.form.constant)};
        for (std::size_t k = count; k-- > 0;) {
            const Domain &domain = domains_[order[own[k].first]];
            const Word low = domain.listed ? *std::min_element(domain.values.begin(), domain.values.end()) : domain.low;
            const Word high =
                domain.listed ? *std::max_element(domain.values.begin(), domain.values.end()) : domain.high;
            const Signed weight = own[k].second;
            bound.least[k] = bound.least[k + 1] + std::min(weight * low, weight * high);
            bound.most[k] = bound.most[k + 1] + std::max(weight * low, weight * high);
            terms[own[k].first].push_back({bounds.size(), k, weight});
        }
        if (!bound.feasible(0)) return std::vector<std::uint64_t>();
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
        for (const Term &term : terms[p]) {
            Bound &bound = bounds[term.bound];
            bound.sum[term.number + 1] = bound.sum[term.number] + term.weight * value;
            feasible = feasible && bound.feasible(term.number + 1);
        }
        if (!feasible || !std::all_of(tests[p].begin(), tests[p].end(), [&](std::size_t i) { return holds(i); }))
            continue;
        if (p + 1 < width_) {
            ++p;
            continue;
        }
        // Each solution stands for all values of the slots that no conjunct reads, and a state may be large.
        if (found.empty() && free_states() > max_steps) return std::nullopt;
        keep(registers_.data(), found);
        if (is_too_much(found, max_steps)) return std::nullopt;
    }
}

}  // namespace misstep::jani
