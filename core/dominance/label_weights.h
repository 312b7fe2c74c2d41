#pragma once

#include <cstdint>
#include <vector>

#include "dominance/label_dominance.h"

namespace misstep::dominance {

// The value to the other factors if one factor answers a label by another one: the sum of their label dominances.
//
// Labels that are equivalent in all other factors form a class, so that sums are computed once for each pair of classes. Answers
// are kept by the group of their label in this factor: the best label of the group counts, including its cost.
class LabelWeights {
   public:
    // `uses[label]`: the factors a label is relevant in, and its group there.
    struct Use {
        int factor;
        int group;
    };
    LabelWeights(int factor, const Lts &lts, const std::vector<std::vector<Use>> &uses, const std::vector<Cost> &costs,
                 const std::vector<LabelDominance> &dominance);

    int classes() const { return static_cast<int>(terms_.size()); }
    int class_of(int position) const { return class_of_[position]; }  // of a label, by position in the factor
    const std::vector<int> &neighbours() const { return neighbours_; }  // the factors whose label dominance is read
    std::uint64_t work() const;  // of one update, roughly

    void update(const std::vector<LabelDominance> &dominance);
    // The value of answering a label of the class by the best label of a group, or by nothing. The cost of the answer is subtracted.
    Cost answer(int label_class, int group) const {
        return answers_[static_cast<std::size_t>(label_class) * groups_ + group];
    }
    Cost nothing(int label_class) const { return nothing_[label_class]; }
    // The value of answering a label of one class by a label of another, whose cost is not subtracted.
    Cost between(int from, int to, const std::vector<LabelDominance> &dominance) {
        return weight(terms_[from], terms_[to], dominance);
    }
    bool saturated() const { return saturated_; }  // some sum was too low for the type

   private:
    struct Term {
        int factor;
        int index;  // in that factor's LabelDominance
        friend bool operator==(const Term &, const Term &) = default;
        friend auto operator<=>(const Term &, const Term &) = default;
    };
    struct Response {
        int label_class;
        Cost cost;
    };
    Cost weight(const std::vector<Term> &from, const std::vector<Term> &to,
                const std::vector<LabelDominance> &dominance);

    int groups_;
    std::vector<int> class_of_;
    std::vector<std::vector<Term>> terms_;
    std::vector<std::vector<Response>> responses_;  // by group
    std::vector<int> neighbours_;
    std::vector<Cost> answers_;
    std::vector<Cost> nothing_;
    bool saturated_ = false;
};

// The labels of all factors together.
struct LabelSystem {
    LabelSystem(const std::vector<Lts> &factors, const std::vector<Cost> &costs, std::uint64_t max_cells);

    std::vector<std::vector<LabelWeights::Use>> uses;  // by label
    std::vector<LabelDominance> dominance;             // by factor
    std::vector<LabelWeights> weights;                 // by factor
};

}  // namespace misstep::dominance
