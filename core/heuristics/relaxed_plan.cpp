#include "heuristics/relaxed_plan.h"

#include <algorithm>

namespace misstep {

RelaxedPlan::RelaxedPlan(const AddExploration &exploration)
    : exploration_(exploration),
      fact_marks_(exploration.relaxed().fact_count(), 0),
      operator_marks_(exploration.relaxed().task().operator_count(), 0),
      helpful_marks_(exploration.relaxed().task().operator_count(), 0) {}

void RelaxedPlan::start() {
    if (++epoch_ == 0) {
        std::fill(fact_marks_.begin(), fact_marks_.end(), 0);
        std::fill(operator_marks_.begin(), operator_marks_.end(), 0);
        std::fill(helpful_marks_.begin(), helpful_marks_.end(), 0);
        epoch_ = 1;
    }
    open_.clear();
    operators_.clear();
    helpful_.clear();
}

Cost RelaxedPlan::finish() {
    for (const std::int32_t fact : open_)
        if (!exploration_.reached(fact)) return INFINITE_COST;
    const RelaxedTask &relaxed = exploration_.relaxed();
    Cost cost = 0;
    while (!open_.empty()) {
        const std::int32_t fact = open_.back();
        open_.pop_back();
        const std::int32_t op = exploration_.supporter(fact);
        const RelaxedTask::Operator &data = relaxed.operators()[op];
        if (operator_marks_[data.parent] != epoch_) {
            operator_marks_[data.parent] = epoch_;
            operators_.push_back(data.parent);
            cost += data.cost;
        }
        // In layer 1 all preconditions are true in the state.
        if (exploration_.layer(fact) == 1) {
            if (helpful_marks_[data.parent] != epoch_) {
                helpful_marks_[data.parent] = epoch_;
                helpful_.push_back(data.parent);
            }
        } else {
            for (const std::int32_t precondition : relaxed.preconditions(op)) add(precondition);
        }
    }
    std::sort(helpful_.begin(), helpful_.end());
    return cost;
}

std::size_t RelaxedPlan::bytes() const {
    return (fact_marks_.capacity() + operator_marks_.capacity() + helpful_marks_.capacity() + open_.capacity() +
            operators_.capacity() + helpful_.capacity()) *
           sizeof(std::uint32_t);
}

}  // namespace misstep
