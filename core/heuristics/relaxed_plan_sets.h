#pragma once

#include <cstdint>
#include <vector>

#include "heuristics/exploration.h"

namespace misstep {

// The relaxed plan of every single fact after one exploration, as a set of operators, computed when first asked for.
//
// The relaxed plan of a goal is the union of those of its facts, because best supporters do not depend on the goal. With
// many goals from one source, a union of a few machine words replaces a walk back through all supporters. Operators are
// numbered as they turn up in plans, so the sets are small however many operators the task has.
class RelaxedPlanSets {
   public:
    explicit RelaxedPlanSets(const AddExploration &exploration);
    RelaxedPlanSets(const RelaxedPlanSets &) = delete;

    void reset();  // after each exploration

    // Goals come as start(), any number of add(fact), and cost(): INFINITE_COST if one is unreached.
    void start();
    void add(std::int32_t fact) {
        if (exploration_.layer(fact) == 0) return;
        if (!exploration_.reached(fact)) {
            unreached_ = true;
            return;
        }
        unite(union_.data(), set_of(fact));
    }
    Cost cost() const;

    std::size_t bytes() const;

   private:
    using Word = std::uint64_t;
    const Word *set_of(std::int32_t fact) {
        if (rows_[fact] == NO_ROW) compute(fact);
        return sets_.data() + rows_[fact];
    }
    void compute(std::int32_t fact);
    void unite(Word *target, const Word *other) const {
        for (std::size_t w = 0; w < words_; ++w) target[w] |= other[w];
    }

    static constexpr std::size_t NO_ROW = ~std::size_t{0};
    static constexpr std::int32_t NO_NUMBER = -1;

    const AddExploration &exploration_;
    std::size_t words_;                  // of a set; each fact has one supporter, so facts bound the operators
    std::vector<std::size_t> rows_;      // fact -> where its set begins in sets_
    std::vector<std::int32_t> computed_;  // facts that have a set
    std::vector<Word> sets_;
    std::vector<std::int32_t> numbers_;  // operator -> its number in the sets
    std::vector<OperatorId> operators_;  // the inverse
    std::vector<Word> union_;
    std::vector<std::int32_t> stack_;
    bool unreached_ = false;
    bool unit_cost_;
};

}  // namespace misstep
