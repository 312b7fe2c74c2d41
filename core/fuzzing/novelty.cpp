#include "fuzzing/novelty.h"

#include <algorithm>
#include <stdexcept>

namespace misstep {

NoveltyStore::NoveltyStore(const Task &task, int arity, std::uint64_t max_bits, std::uint64_t max_tuples)
    : task_(task), arity_(std::min(arity, task.variable_count())), max_tuples_(max_tuples) {
    if (arity < 1 || arity > MAX_ARITY) throw std::invalid_argument("the arity is 1, 2 or 3");
    if (arity_ == 3) {
        // The ids of three facts have to fit in one 64-bit number.
        if (task.fact_count() >= 1 << 21) throw std::invalid_argument("too many facts to count triples of them");
        return;
    }
    const auto domains = task.domain_sizes();
    const int n = task.variable_count();
    std::uint64_t next = 0;
    for (int v = 0; v < n; ++v) {
        if (arity_ == 1) {
            first_.push_back(next);
            next += static_cast<std::uint64_t>(domains[v]);
        }
        for (int w = v + 1; arity_ == 2 && w < n; ++w) {
            first_.push_back(next);
            next += static_cast<std::uint64_t>(domains[v]) * static_cast<std::uint64_t>(domains[w]);
        }
    }
    if (next <= max_bits) bits_.assign((next + 63) / 64 + 1, 0);
}

template <class Visit>
void NoveltyStore::for_each_triple(const int *values, Visit &&visit) const {
    const auto offsets = task_.fact_offsets();
    const int n = task_.variable_count();
    const auto fact = [&](int v) { return static_cast<std::uint64_t>(offsets[v] + values[v]); };
    for (int v = 0; v < n; ++v)
        for (int w = v + 1; w < n; ++w) {
            const std::uint64_t pair = fact(v) << 42 | fact(w) << 21;
            for (int x = w + 1; x < n; ++x)
                if (!visit(pair | fact(x))) return;
        }
}

template <class Visit>
void NoveltyStore::for_each_tuple(const int *values, Visit &&visit) const {
    if (arity_ == 3) return for_each_triple(values, visit);
    const auto domains = task_.domain_sizes();
    const int n = task_.variable_count();
    const std::uint64_t *first = first_.data();
    for (int v = 0; v < n; ++v) {
        if (arity_ == 1) {
            if (!visit(*first++ + static_cast<std::uint64_t>(values[v]))) return;
            continue;
        }
        for (int w = v + 1; w < n; ++w) {
            const auto place = static_cast<std::uint64_t>(values[v]) * static_cast<std::uint64_t>(domains[w]) +
                               static_cast<std::uint64_t>(values[w]);
            if (!visit(*first++ + place)) return;
        }
    }
}

bool NoveltyStore::contains(std::uint64_t tuple) const {
    if (!bits_.empty()) return bits_[tuple / 64] >> (tuple % 64) & 1;
    return set_.find(&tuple) != NO_STATE;
}

bool NoveltyStore::is_novel(const int *values) const {
    bool novel = false;
    for_each_tuple(values, [&](std::uint64_t tuple) {
        novel = !contains(tuple);
        return !novel;
    });
    return novel;
}

void NoveltyStore::insert(const int *values) {
    for_each_tuple(values, [&](std::uint64_t tuple) {
        if (!bits_.empty()) {
            tuples_ += !contains(tuple);
            bits_[tuple / 64] |= std::uint64_t{1} << (tuple % 64);
        } else if (tuples_ < max_tuples_) {
            tuples_ += set_.insert(&tuple).second;
        } else if (set_.find(&tuple) == NO_STATE) {
            full_ = true;
            return false;
        }
        return true;
    });
}

}  // namespace misstep
