#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dominance/lts.h"
#include "dominance/table.h"

namespace misstep::dominance {

// How much one factor loses or gains if a label is replaced by another one, or by nothing, in the same state: the minimum over all
// transitions of the first label of the best answer by the second. Values are kept by group, and only for groups with a label that
// is relevant in another factor too, since only those are read.
class LabelDominance {
   public:
    // With more than `max_cells` pairs of groups, a label can only be replaced by one of its own group.
    LabelDominance(const Lts &lts, const std::vector<char> &asked, std::uint64_t max_cells);

    int index(int group) const { return index_[group]; }  // -1: never read
    int count() const { return static_cast<int>(groups_.size()); }
    Cost between(int from, int to) const {
        if (between_.empty()) return from == to ? 0 : MINUS_INFINITY;
        return between_[static_cast<std::size_t>(from) * count() + to];
    }
    Cost to_nothing(int index) const { return to_nothing_[index]; }
    Cost from_nothing(int index) const { return from_nothing_[index]; }

    // Recomputes everything from D, given as a function of (dominated, dominating). Returns whether anything changed.
    template <class D>
    bool update(const Lts &lts, D &&d);

   private:
    template <class D>
    void update_between(const Lts &lts, D &&d, std::vector<Cost> &row, std::vector<int> &stamp, int &now, int from);

    std::vector<int> index_;
    std::vector<int> groups_;
    std::vector<Cost> between_;
    std::vector<Cost> to_nothing_;
    std::vector<Cost> from_nothing_;
};

template <class D>
bool LabelDominance::update(const Lts &lts, D &&d) {
    bool changed = false;
    const auto put = [&changed](Cost &place, Cost value) {
        changed = changed || place != value;
        place = value;
    };
    // Replacing nothing by a group: at each state the best transition of the group; -infinity if some state has none.
    std::vector<Cost> best(count(), MINUS_INFINITY), worst(count(), INFINITE_COST);
    std::vector<int> touched;
    std::vector<int> seen(count(), 0);
    for (int x = 0; x < lts.size(); ++x) {
        touched.clear();
        for (const Lts::Step &step : lts.out(x)) {
            const int q = index_[step.group];
            if (q < 0) continue;
            if (best[q] == MINUS_INFINITY) touched.push_back(q);
            best[q] = std::max(best[q], d(x, step.to));
        }
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        for (int q : touched) {
            ++seen[q];
            worst[q] = std::min(worst[q], best[q]);
            best[q] = MINUS_INFINITY;
        }
    }
    for (int q = 0; q < count(); ++q) put(from_nothing_[q], seen[q] == lts.size() ? worst[q] : MINUS_INFINITY);
    for (int p = 0; p < count(); ++p) {
        Cost value = INFINITE_COST;
        for (const Transition &t : lts.group(groups_[p])) value = std::min(value, d(t.to, t.from));
        put(to_nothing_[p], value);
    }
    if (between_.empty()) return changed;
    std::vector<Cost> row(count());
    std::vector<int> stamp(count(), 0);
    int now = 0;
    for (int p = 0; p < count(); ++p) {
        update_between(lts, d, row, stamp, now, p);
        Cost *old = between_.data() + static_cast<std::size_t>(p) * count();
        changed = changed || !std::equal(row.begin(), row.end(), old);
        std::copy(row.begin(), row.end(), old);
    }
    return changed;
}

template <class D>
void LabelDominance::update_between(const Lts &lts, D &&d, std::vector<Cost> &row, std::vector<int> &stamp, int &now,
                                    int from) {
    std::fill(row.begin(), row.end(), MINUS_INFINITY);
    std::vector<int> candidates;  // finite so far
    std::vector<Cost> best(count());
    bool first = true;
    for (const Transition &t : lts.group(groups_[from])) {
        ++now;
        std::vector<int> here;
        for (const Lts::Step &step : lts.out(t.from)) {
            const int q = index_[step.group];
            if (q < 0) continue;
            const Cost value = d(t.to, step.to);
            if (stamp[q] != now) {
                stamp[q] = now;
                best[q] = value;
                if (first) here.push_back(q);
            } else {
                best[q] = std::max(best[q], value);
            }
        }
        if (first) {
            for (int q : here)
                if (best[q] != MINUS_INFINITY) {
                    row[q] = best[q];
                    candidates.push_back(q);
                }
            first = false;
        } else {
            std::erase_if(candidates, [&](int q) {
                row[q] = stamp[q] == now ? std::min(row[q], best[q]) : MINUS_INFINITY;
                return row[q] == MINUS_INFINITY;
            });
        }
        if (candidates.empty()) return;
    }
}

}  // namespace misstep::dominance
