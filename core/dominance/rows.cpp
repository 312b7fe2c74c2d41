#include "dominance/rows.h"

#include <algorithm>
#include <numeric>

namespace misstep::dominance {

namespace {

template <class Sum>
class FactoringRows : public Rows {
   public:
    FactoringRows(const Function &function, int factoring) : function_(function), factoring_(factoring) {
        const std::vector<FactorTable> &factors = function.factorings()[factoring].factors;
        // So low that finite values cannot raise the sum to a finite value, and so high that the sum over all factors fits.
        none_ = std::numeric_limits<Sum>::min() / 2 / static_cast<Sum>(factors.size());
        order_.resize(factors.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::vector<double> share;
        for (const FactorTable &factor : factors) {
            const double pairs = static_cast<double>(factor.table.size()) * factor.table.size();
            share.push_back(static_cast<double>(factor.table.finite()) / pairs);
        }
        std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return share[a] < share[b]; });
        for (int i : order_) {
            columns_.emplace_back();
            in_.emplace_back(factors[i].table.size());
            out_.emplace_back(factors[i].table.size());
            complete_.push_back(share[i] == 1.0);
        }
        ids_.resize(factors.size());
        query_.resize(factors.size());
    }

    std::unique_ptr<Rows> clone() const override { return std::make_unique<FactoringRows>(*this); }

    // Whether sums of this type can hold all values.
    static bool fits(const std::vector<FactorTable> &factors) {
        Cost sum = 0;
        for (const FactorTable &factor : factors) sum = std::min(INFINITE_COST, sum + factor.table.magnitude());
        return sum < -(std::numeric_limits<Sum>::min() / 2 / static_cast<Sum>(factors.size()) / 2);
    }

    bool add(std::uint32_t row, const int *values) override {
        if (row >= member_of_.size()) member_of_.resize(row + 1, -1);
        if (!function_.abstract(factoring_, values, ids_.data())) return false;
        member_of_[row] = size();
        row_of_.push_back(row);
        for (std::size_t k = 0; k < order_.size(); ++k)
            columns_[k].push_back(static_cast<std::uint32_t>(ids_[order_[k]]));
        return true;
    }

    bool set_query(const int *values) override {
        prepared_ = false;
        return function_.abstract(factoring_, values, query_.data());
    }

    void compare(int first, int count, Cost *dominated, Cost *dominating) override {
        prepare();
        for (int done = 0; done < count; done += BLOCK) {
            const int length = std::min(BLOCK, count - done);
            Cost *in = dominated ? dominated + done : nullptr, *out = dominating ? dominating + done : nullptr;
            block(length, in, out,
                  [&, first, done](const std::uint32_t *column, int m) { return column[first + done + m]; });
        }
    }
    void compare(const int *members, int count, Cost *dominated, Cost *dominating) override {
        // Copying the vectors takes longer than it saves if only a few members are compared.
        if (!prepared_ && count < 64) return compare_directly(members, count, dominated, dominating);
        prepare();
        for (int done = 0; done < count; done += BLOCK) {
            const int length = std::min(BLOCK, count - done);
            Cost *in = dominated ? dominated + done : nullptr, *out = dominating ? dominating + done : nullptr;
            block(length, in, out,
                  [&, members, done](const std::uint32_t *column, int m) { return column[members[done + m]]; });
        }
    }
    std::size_t bytes() const override {
        std::size_t sum = member_of_.capacity() * sizeof(int) + row_of_.capacity() * sizeof(std::uint32_t);
        for (const auto &column : columns_) sum += column.capacity() * sizeof(std::uint32_t);
        return sum;
    }

   private:
    const Table &table(std::size_t k) const { return function_.factorings()[factoring_].factors[order_[k]].table; }

    void prepare() {
        if (prepared_) return;
        prepared_ = true;
        for (std::size_t k = 0; k < order_.size(); ++k) {
            const int n = table(k).size(), t = query_[order_[k]];
            Sum *in = in_[k].data(), *out = out_[k].data();
            table(k).visit([&](const auto *values) {
                if (values == nullptr) {
                    std::fill_n(in, n, none_);
                    std::fill_n(out, n, none_);
                    in[t] = out[t] = 0;
                    return;
                }
                const auto entry = [this](auto value) {
                    return value == std::numeric_limits<decltype(value)>::min() ? none_ : static_cast<Sum>(value);
                };
                for (int x = 0; x < n; ++x) in[x] = entry(values[static_cast<std::size_t>(x) * n + t]);
                for (int x = 0; x < n; ++x) out[x] = entry(values[static_cast<std::size_t>(t) * n + x]);
            });
        }
    }

    template <class At>
    void block(int length, Cost *dominated, Cost *dominating, At &&at) {
        alignas(64) Sum in[BLOCK], out[BLOCK];
        std::fill_n(in, length, Sum{0});
        std::fill_n(out, length, Sum{0});
        bool alive = true;
        for (std::size_t k = 0; k < order_.size() && alive; ++k) {
            const std::uint32_t *column = columns_[k].data();
            const Sum *in_k = in_[k].data(), *out_k = out_[k].data();
            if (dominated)
                for (int m = 0; m < length; ++m) in[m] += in_k[at(column, m)];
            if (dominating)
                for (int m = 0; m < length; ++m) out[m] += out_k[at(column, m)];
            if (complete_[k]) continue;
            Sum best = std::numeric_limits<Sum>::min();
            if (dominated)
                for (int m = 0; m < length; ++m) best = std::max(best, in[m]);
            if (dominating)
                for (int m = 0; m < length; ++m) best = std::max(best, out[m]);
            alive = best > none_ / 2;
        }
        const auto write = [&](const Sum *sums, Cost *result) {
            if (result == nullptr) return;
            for (int m = 0; m < length; ++m)
                result[m] = alive && sums[m] > none_ / 2 ? static_cast<Cost>(sums[m]) : MINUS_INFINITY;
        };
        write(in, dominated);
        write(out, dominating);
    }

    void compare_directly(const int *members, int count, Cost *dominated, Cost *dominating) {
        for (int m = 0; m < count; ++m) {
            Cost in = dominated ? 0 : MINUS_INFINITY, out = dominating ? 0 : MINUS_INFINITY;
            for (std::size_t k = 0; k < order_.size(); ++k) {
                const int s = static_cast<int>(columns_[k][members[m]]), t = query_[order_[k]];
                const auto add = [](Cost &sum, Cost value) { sum = value == MINUS_INFINITY ? value : sum + value; };
                if (in != MINUS_INFINITY) add(in, table(k).at(s, t));
                if (out != MINUS_INFINITY) add(out, table(k).at(t, s));
                if (in == MINUS_INFINITY && out == MINUS_INFINITY) break;
            }
            if (dominated) dominated[m] = in;
            if (dominating) dominating[m] = out;
        }
    }

    const Function &function_;
    int factoring_;
    Sum none_;
    std::vector<int> order_;
    std::vector<std::vector<std::uint32_t>> columns_;  // in this order
    std::vector<std::vector<Sum>> in_, out_;
    std::vector<char> complete_;  // no -infinity in the table
    std::vector<int> ids_, query_;
    bool prepared_ = false;
};

}  // namespace

std::unique_ptr<Rows> Rows::make(const Function &function, int factoring) {
    if (FactoringRows<std::int32_t>::fits(function.factorings()[factoring].factors))
        return std::make_unique<FactoringRows<std::int32_t>>(function, factoring);
    return std::make_unique<FactoringRows<std::int64_t>>(function, factoring);
}

}  // namespace misstep::dominance
