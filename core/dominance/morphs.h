#pragma once

#include <cstdint>
#include <vector>

#include "dominance/function.h"

namespace misstep::dominance {

struct Morph {
    std::vector<int> values;
    Cost value;  // D(morph, t)
};

// States s with a finite D(s, t) for a given t. A state-morphing oracle runs the policy on them.
class Morphs {
   public:
    explicit Morphs(const Function &function);

    // All states that differ from t in one variable and have D(s, t) > -infinity, best first, then by variable and value.
    std::vector<Morph> single(const int *dominating) const;
    // The `count` best states other than t, whatever the number of factors that differ. One state represents all states with the same
    // abstract states. Best first, then by values.
    std::vector<Morph> best(const int *dominating, std::size_t count) const;

   private:
    void best_of(int factoring, const int *dominating, std::size_t count, std::vector<Morph> &found) const;

    const Function &function_;
    // By factoring, factor and abstract state.
    std::vector<std::vector<std::vector<std::vector<Fact>>>> representatives_;
};

}  // namespace misstep::dominance
