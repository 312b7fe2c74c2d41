#include "dominance/index.h"

#include <algorithm>
#include <string>

#include "base/contradiction.h"

namespace misstep::dominance {

namespace {

Cost inferred(Cost bound, Cost value) {
    const Cost result = bound - value;
    if (result < 0)
        throw Contradiction("an upper bound of " + std::to_string(bound) + " and a dominance value of " +
                            std::to_string(value) + " would make the cost of a plan negative: one of them is wrong");
    return result;
}

}  // namespace

void ComparisonIndex::Sources::activate(int member) {
    if (member >= static_cast<int>(place.size())) place.resize(member + 1, -1);
    if (place[member] >= 0) return;
    place[member] = static_cast<int>(list.size());
    list.push_back(member);
}

void ComparisonIndex::Sources::drop(int member) {
    if (!contains(member)) return;
    const int hole = place[member], last = list.back();
    list[hole] = last;
    place[last] = hole;
    list.pop_back();
    place[member] = -1;
}

ComparisonIndex::ComparisonIndex(const Function &function)
    : function_(function), packer_(function.domain_sizes()), registry_(packer_.words()), packed_(packer_.words()) {
    for (std::size_t f = 0; f < function.factorings().size(); ++f) {
        rows_.push_back(Rows::make(function, static_cast<int>(f)));
        sources_.push_back({{}, {}, function.factorings()[f].transitive});
    }
}

ComparisonIndex::ComparisonIndex(const ComparisonIndex &other)
    : function_(other.function_),
      packer_(other.packer_),
      registry_(packer_.words()),
      bounds_(other.bounds_),
      sources_(other.sources_),
      packed_(other.packed_) {
    for (std::uint32_t row = 0; row < other.size(); ++row) registry_.insert(other.registry_[row]);
    for (const auto &rows : other.rows_) rows_.push_back(rows->clone());
}

std::uint32_t ComparisonIndex::add(const int *values) {
    std::fill(packed_.begin(), packed_.end(), 0);
    packer_.pack(values, packed_.data());
    const auto [row, fresh] = registry_.insert(packed_.data());
    if (fresh) {
        bounds_.push_back(INFINITE_COST);
        for (auto &rows : rows_) rows->add(row, values);
    }
    return row;
}

std::uint32_t ComparisonIndex::find(const int *values) const {
    std::fill(packed_.begin(), packed_.end(), 0);
    packer_.pack(values, packed_.data());
    return registry_.find(packed_.data());
}

void ComparisonIndex::state(std::uint32_t row, int *values) const { packer_.unpack(registry_[row], values); }

void ComparisonIndex::consider(Pull &pull, std::uint32_t row, Cost value) const {
    if (value == MINUS_INFINITY || bounds_[row] >= INFINITE_COST) return;
    const Cost bound = inferred(bounds_[row], value);
    if (bound < pull.bound || (bound == pull.bound && row < pull.row)) pull = {bound, row};
}

ComparisonIndex::Pull ComparisonIndex::pull(const int *dominating) {
    Pull best;
    if (const std::uint32_t own = find(dominating); own != NO_STATE && bounds_[own] < INFINITE_COST)
        best = {bounds_[own], own};
    for (std::size_t f = 0; f < rows_.size(); ++f) {
        const std::vector<int> &list = sources_[f].list;
        if (list.empty() || !rows_[f]->set_query(dominating)) continue;
        in_.resize(list.size());
        rows_[f]->compare(list.data(), static_cast<int>(list.size()), in_.data(), nullptr);
        for (std::size_t k = 0; k < list.size(); ++k) consider(best, rows_[f]->row(list[k]), in_[k]);
    }
    return best;
}

// Makes the row a source of the factoring, unless another source serves it.
void ComparisonIndex::settle(std::size_t f, std::uint32_t row, const int *values) {
    const int self = rows_[f]->member(row);
    if (self < 0) return;
    Sources &sources = sources_[f];
    if (!sources.transitive) return sources.activate(self);
    if (sources.list.empty()) return sources.activate(self);
    rows_[f]->set_query(values);
    const auto count = static_cast<int>(sources.list.size());
    in_.resize(count);
    out_.resize(count);
    rows_[f]->compare(sources.list.data(), count, in_.data(), out_.data());
    const Cost bound = bounds_[row];
    std::vector<int> served;
    for (int k = 0; k < count; ++k) {
        const int other = sources.list[k];
        if (other == self) continue;
        const Cost theirs = bounds_[rows_[f]->row(other)];
        if (in_[k] != MINUS_INFINITY && theirs - in_[k] <= bound) return sources.drop(self);
        if (out_[k] != MINUS_INFINITY && bound - out_[k] <= theirs) served.push_back(other);
    }
    sources.activate(self);
    for (int other : served) sources.drop(other);
}

void ComparisonIndex::set_bound(std::uint32_t row, Cost bound) {
    if (bound >= bounds_[row]) return;
    bounds_[row] = bound;
    std::vector<int> values(packer_.variables());
    state(row, values.data());
    for (std::size_t f = 0; f < rows_.size(); ++f) settle(f, row, values.data());
}

void ComparisonIndex::set_bounds(std::span<const Cost> bounds) {
    for (std::uint32_t row = 0; row < bounds.size(); ++row)
        if (bounds[row] >= 0) set_bound(row, bounds[row]);
}

ComparisonIndex::Push ComparisonIndex::apply(const int *values, Cost bound, const std::vector<Cost> &value_of) {
    Push result;
    if (bound >= INFINITE_COST) return result;
    const std::uint32_t own = find(values);
    if (own != NO_STATE) set_bound(own, bound);
    for (std::uint32_t row = 0; row < size(); ++row) {
        if (value_of[row] == MINUS_INFINITY || row == own) continue;
        const Cost better = inferred(bound, value_of[row]);
        if (better >= bounds_[row]) continue;
        bounds_[row] = better;
        result.rows.push_back(row);
        result.bounds.push_back(better);
    }
    // In a factoring that gives the new bound, the row is served by the state that gave it, if that is a row with the
    // bound just pushed or a lower one.
    std::vector<int> other(packer_.variables());
    const bool stored = own != NO_STATE && bounds_[own] <= bound;
    for (std::uint32_t row : result.rows) {
        state(row, other.data());
        for (std::size_t f = 0; f < rows_.size(); ++f) {
            const int member = rows_[f]->member(row);
            if (member < 0) continue;
            const bool served = stored && sources_[f].transitive && [&] {
                const Cost value = function_.value(static_cast<int>(f), values, other.data());
                return value != MINUS_INFINITY && bound - value <= bounds_[row];
            }();
            if (served) {
                sources_[f].drop(member);
            } else {
                sources_[f].activate(member);
            }
        }
    }
    return result;
}

ComparisonIndex::Push ComparisonIndex::push(const int *dominated, Cost bound) {
    std::vector<Cost> value_of(size(), MINUS_INFINITY);
    for (auto &rows : rows_) {
        if (!rows->set_query(dominated)) continue;
        out_.resize(rows->size());
        rows->compare(0, rows->size(), nullptr, out_.data());
        for (int m = 0; m < rows->size(); ++m) value_of[rows->row(m)] = std::max(value_of[rows->row(m)], out_[m]);
    }
    return apply(dominated, bound, value_of);
}

ComparisonIndex::Exchange ComparisonIndex::exchange(const int *values, Cost bound) {
    Exchange result;
    if (const std::uint32_t own = find(values); own != NO_STATE && bounds_[own] < INFINITE_COST)
        result.pull = {bounds_[own], own};
    std::vector<Cost> value_of(size(), MINUS_INFINITY);
    for (auto &rows : rows_) {
        if (!rows->set_query(values)) continue;
        in_.resize(rows->size());
        out_.resize(rows->size());
        rows->compare(0, rows->size(), in_.data(), out_.data());
        for (int m = 0; m < rows->size(); ++m) {
            const std::uint32_t row = rows->row(m);
            consider(result.pull, row, in_[m]);
            value_of[row] = std::max(value_of[row], out_[m]);
        }
    }
    result.push = apply(values, std::min(bound, result.pull.bound), value_of);
    return result;
}

std::size_t ComparisonIndex::sources() const {
    std::size_t sum = 0;
    for (const Sources &sources : sources_) sum += sources.list.size();
    return sum;
}

std::size_t ComparisonIndex::bytes() const {
    std::size_t sum = registry_.bytes() + bounds_.capacity() * sizeof(Cost);
    for (const auto &rows : rows_) sum += rows->bytes();
    return sum;
}

}  // namespace misstep::dominance
