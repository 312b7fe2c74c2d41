#include "heuristics/relaxed_plan_sets.h"

#include <algorithm>
#include <bit>

namespace misstep {

RelaxedPlanSets::RelaxedPlanSets(const AddExploration &exploration)
    : exploration_(exploration),
      words_((std::min(exploration.relaxed().fact_count(), exploration.relaxed().task().operator_count()) + 63) / 64),
      rows_(exploration.relaxed().fact_count(), NO_ROW),
      numbers_(exploration.relaxed().task().operator_count(), NO_NUMBER),
      union_(words_),
      unit_cost_(exploration.relaxed().task().min_cost() == 1 && exploration.relaxed().task().max_cost() == 1) {}

void RelaxedPlanSets::reset() {
    for (const std::int32_t fact : computed_) rows_[fact] = NO_ROW;
    for (const OperatorId op : operators_) numbers_[op] = NO_NUMBER;
    computed_.clear();
    operators_.clear();
    sets_.clear();
}

void RelaxedPlanSets::start() {
    std::fill(union_.begin(), union_.end(), 0);
    unreached_ = false;
}

// Depth first along supporters, which are not cyclic: a fact gets its set when all its supporter's preconditions have one.
void RelaxedPlanSets::compute(std::int32_t fact) {
    const RelaxedTask &relaxed = exploration_.relaxed();
    stack_.assign(1, fact);
    while (!stack_.empty()) {
        const std::int32_t at = stack_.back();
        if (rows_[at] != NO_ROW) {
            stack_.pop_back();
            continue;
        }
        const std::int32_t op = exploration_.supporter(at);
        const auto preconditions = relaxed.preconditions(op);
        const std::size_t before = stack_.size();
        for (const std::int32_t precondition : preconditions)
            if (exploration_.layer(precondition) != 0 && rows_[precondition] == NO_ROW) stack_.push_back(precondition);
        if (stack_.size() != before) continue;

        const std::size_t row = sets_.size();
        sets_.resize(row + words_, 0);
        for (const std::int32_t precondition : preconditions)
            if (exploration_.layer(precondition) != 0) unite(sets_.data() + row, sets_.data() + rows_[precondition]);
        const OperatorId parent = relaxed.operators()[op].parent;
        if (numbers_[parent] == NO_NUMBER) {
            numbers_[parent] = static_cast<std::int32_t>(operators_.size());
            operators_.push_back(parent);
        }
        sets_[row + numbers_[parent] / 64] |= Word{1} << (numbers_[parent] % 64);
        rows_[at] = row;
        computed_.push_back(at);
        stack_.pop_back();
    }
}

Cost RelaxedPlanSets::cost() const {
    if (unreached_) return INFINITE_COST;
    Cost cost = 0;
    for (std::size_t w = 0; w < words_; ++w) {
        if (unit_cost_) {
            cost += std::popcount(union_[w]);
        } else {
            for (Word rest = union_[w]; rest != 0; rest &= rest - 1)
                cost += exploration_.relaxed().task().cost(operators_[64 * w + std::countr_zero(rest)]);
        }
    }
    return cost;
}

std::size_t RelaxedPlanSets::bytes() const {
    return rows_.capacity() * sizeof(std::size_t) + (sets_.capacity() + union_.capacity()) * sizeof(Word) +
           (computed_.capacity() + numbers_.capacity() + operators_.capacity() + stack_.capacity()) *
               sizeof(std::int32_t);
}

}  // namespace misstep
