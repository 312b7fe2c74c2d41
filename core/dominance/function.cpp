#include "dominance/function.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace misstep::dominance {

Cost Function::value(int f, const int *dominated, const int *dominating) const {
    Cost sum = 0;
    for (const FactorTable &factor : factorings_[f].factors) {
        const int s = factor.lookup(dominated), t = factor.lookup(dominating);
        if (s == PRUNED || t == PRUNED) return MINUS_INFINITY;
        const Cost part = factor.table.at(s, t);
        if (part == MINUS_INFINITY) return MINUS_INFINITY;
        sum += part;
    }
    return sum;
}

Cost Function::value(const int *dominated, const int *dominating) const {
    Cost best = MINUS_INFINITY;
    for (std::size_t f = 0; f < factorings_.size(); ++f)
        best = std::max(best, value(static_cast<int>(f), dominated, dominating));
    return best;
}

bool Function::abstract(int f, const int *values, int *ids) const {
    for (const FactorTable &factor : factorings_[f].factors)
        if ((*ids++ = factor.lookup(values)) == PRUNED) return false;
    return true;
}

std::vector<Cost> Function::matrix(const std::vector<const int *> &dominated,
                                   const std::vector<const int *> &dominating) const {
    std::vector<Cost> result(dominated.size() * dominating.size(), MINUS_INFINITY);
    for (std::size_t f = 0; f < factorings_.size(); ++f) {
        const std::vector<FactorTable> &factors = factorings_[f].factors;
        const std::size_t k = factors.size();
        const auto ids_of = [&](const std::vector<const int *> &states) {
            std::vector<int> ids(states.size() * k);
            for (std::size_t i = 0; i < states.size(); ++i)
                if (!abstract(static_cast<int>(f), states[i], ids.data() + i * k)) ids[i * k] = PRUNED;
            return ids;
        };
        const std::vector<int> rows = ids_of(dominated), columns = ids_of(dominating);
        for (std::size_t i = 0; i < dominated.size(); ++i) {
            if (rows[i * k] == PRUNED) continue;
            for (std::size_t j = 0; j < dominating.size(); ++j) {
                if (columns[j * k] == PRUNED) continue;
                Cost sum = 0;
                for (std::size_t x = 0; x < k && sum != MINUS_INFINITY; ++x) {
                    const Cost part = factors[x].table.at(rows[i * k + x], columns[j * k + x]);
                    sum = part == MINUS_INFINITY ? MINUS_INFINITY : sum + part;
                }
                Cost &place = result[i * dominating.size() + j];
                place = std::max(place, sum);
            }
        }
    }
    return result;
}

std::vector<Function::Part> Function::by_factor(const int *dominated, const int *dominating) const {
    const Cost best = value(dominated, dominating);
    std::vector<Part> parts;
    if (best == MINUS_INFINITY) return parts;
    int f = 0;
    while (value(f, dominated, dominating) != best) ++f;
    for (const FactorTable &factor : factorings_[f].factors) {
        const int s = factor.lookup(dominated), t = factor.lookup(dominating);
        parts.push_back({&factor.variables, s, t, factor.table.at(s, t)});
    }
    return parts;
}

std::size_t Function::bytes() const {
    std::size_t sum = 0;
    for (const Simulation &factoring : factorings_)
        for (const FactorTable &factor : factoring.factors) sum += factor.table.bytes();
    return sum;
}

// The file format: 64-bit little-endian integers, and the tables as they are in memory. For each factoring: whether it is transitive, rounds,
// steps, number of factors; for each factor: number of variables, variables, size, fallback, length and numbers of its lookup,
// then one byte for the width of the table (0: identity, 1: int16, 2: int32, 3: int64) and its rows.
namespace {

// Numbers are written as they are in memory.
static_assert(std::endian::native == std::endian::little);

void put(std::string &out, std::int64_t value) { out.append(reinterpret_cast<const char *>(&value), sizeof value); }

bool get(std::string_view &in, std::int64_t &value, std::int64_t low, std::int64_t high) {
    if (in.size() < sizeof value) return false;
    std::memcpy(&value, in.data(), sizeof value);
    in.remove_prefix(sizeof value);
    return low <= value && value <= high;
}

bool read_factor(std::string_view &in, const std::vector<int> &domain_sizes, FactorTable &factor) {
    std::int64_t count = 0, size = 0, fallback = 0, length = 0;
    const auto variables = static_cast<std::int64_t>(domain_sizes.size());
    if (!get(in, count, 1, variables)) return false;
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t variable = 0;
        if (!get(in, variable, i == 0 ? 0 : factor.variables.back() + 1, variables - 1)) return false;
        factor.variables.push_back(static_cast<int>(variable));
    }
    if (!get(in, size, 1, 1 << 30) || !get(in, fallback, 0, static_cast<int>(Fallback::time)) ||
        !get(in, length, 1, std::numeric_limits<std::int64_t>::max()) ||
        static_cast<std::uint64_t>(length) > in.size() / sizeof length)
        return false;
    factor.fallback = static_cast<Fallback>(fallback);
    std::vector<std::int64_t> numbers(length);
    std::memcpy(numbers.data(), in.data(), length * sizeof(std::int64_t));
    in.remove_prefix(length * sizeof(std::int64_t));
    std::span<const std::int64_t> rest(numbers);
    auto lookup = Lookup::read(rest, domain_sizes, static_cast<int>(size));
    if (!lookup || !rest.empty()) return false;
    lookup->flatten(domain_sizes, 1 << 20);
    factor.lookup = std::move(*lookup);
    auto table = Table::read(in, static_cast<int>(size));
    if (!table) return false;
    factor.table = std::move(*table);
    return true;
}

}  // namespace

std::string Function::write() const {
    std::string out;
    put(out, static_cast<std::int64_t>(factorings_.size()));
    for (const Simulation &factoring : factorings_) {
        put(out, factoring.transitive);
        put(out, factoring.rounds);
        put(out, static_cast<std::int64_t>(factoring.steps));
        put(out, static_cast<std::int64_t>(factoring.factors.size()));
        for (const FactorTable &factor : factoring.factors) {
            put(out, static_cast<std::int64_t>(factor.variables.size()));
            for (int v : factor.variables) put(out, v);
            put(out, factor.table.size());
            put(out, static_cast<std::int64_t>(factor.fallback));
            std::vector<std::int64_t> lookup;
            factor.lookup.write(lookup);
            put(out, static_cast<std::int64_t>(lookup.size()));
            for (std::int64_t number : lookup) put(out, number);
            factor.table.write(out);
        }
    }
    return out;
}

std::optional<Function> Function::read(std::string_view in, std::vector<int> domain_sizes) {
    const auto variables = static_cast<std::int64_t>(domain_sizes.size());
    std::int64_t count = 0;
    if (!get(in, count, 0, 1000)) return {};
    std::vector<Simulation> factorings(count);
    for (Simulation &factoring : factorings) {
        std::int64_t transitive = 0, rounds = 0, steps = 0, factors = 0;
        if (!get(in, transitive, 0, 1) || !get(in, rounds, 0, std::numeric_limits<int>::max()) ||
            !get(in, steps, 0, std::numeric_limits<std::int64_t>::max()) || !get(in, factors, 1, variables))
            return {};
        factoring.transitive = transitive != 0;
        factoring.rounds = static_cast<int>(rounds);
        factoring.steps = static_cast<std::uint64_t>(steps);
        factoring.factors.resize(factors);
        for (FactorTable &factor : factoring.factors)
            if (!read_factor(in, domain_sizes, factor)) return {};
    }
    if (!in.empty()) return {};
    return Function(std::move(domain_sizes), std::move(factorings));
}

}  // namespace misstep::dominance
