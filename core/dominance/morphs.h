#pragma once

#include <cstdint>
#include <vector>

#include "dominance/function.h"

namespace misstep::dominance {

struct Morph {
    std::vector<int> values;
    Cost value;  // D(morph, t)
};

// States s about which D(s, t) says something for a given t: what a state-morphing oracle runs its policy on.
class Morphs {
   public:
    explicit Morphs(const Function &function);

    // All states that differ from t in one variable and have D(s, t) > -infinity, best first, then by variable and value.
    std::vector<Morph> single(const int *dominating) const;
    // The `count` best states other than t, however many factors differ. One state stands for all that a factor does not tell apart. Best
    // first, then by values.
    std::vector<Morph> best(const int *dominating, std::size_t count) const;

   private:
    void best_of(int factoring, const int *dominating, std::size_t count, std::vector<Morph> &found) const;

    const Function &function_;
    // By factoring, factor and abstract state.
    std::vector<std::vector<std::vector<std::vector<Fact>>>> representatives_;
};

}  // namespace misstep::dominance
