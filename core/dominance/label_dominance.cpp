#include "dominance/label_dominance.h"

namespace misstep::dominance {

LabelDominance::LabelDominance(const Lts &lts, const std::vector<char> &asked, std::uint64_t max_cells)
    : index_(lts.groups(), -1) {
    for (std::size_t k = 0; k < lts.labels().size(); ++k) {
        const int group = lts.group_of()[k];
        if (!asked[lts.labels()[k]] || index_[group] >= 0) continue;
        index_[group] = count();
        groups_.push_back(group);
    }
    const std::uint64_t n = groups_.size();
    if (n * n <= max_cells) between_.assign(n * n, INFINITE_COST);
    to_nothing_.assign(n, INFINITE_COST);
    from_nothing_.assign(n, INFINITE_COST);
}

}  // namespace misstep::dominance
