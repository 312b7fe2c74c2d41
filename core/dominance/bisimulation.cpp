#include "dominance/bisimulation.h"

#include <algorithm>
#include <map>
#include <utility>

namespace misstep::dominance {

bool shrink_by_bisimulation(Factor &factor) {
    struct Step {
        int label;
        int to;
    };
    std::vector<std::vector<Step>> out(factor.size);
    for (const LabelledTransitions &entry : factor.labels)
        for (const Transition &t : entry.transitions) out[t.from].push_back({entry.label, t.to});

    // Bisimilar states have the same goal distance, so the first partition may use it.
    std::vector<int> block(factor.size);
    std::size_t blocks = 0;
    {
        std::map<std::pair<bool, Cost>, int> known;
        for (int s = 0; s < factor.size; ++s)
            block[s] = known.emplace(std::pair(factor.goal[s] != 0, factor.h[s]), static_cast<int>(known.size()))
                           .first->second;
        blocks = known.size();
    }
    using Signature = std::pair<int, std::vector<std::pair<int, int>>>;  // own block, then labels with target blocks
    for (;;) {
        std::map<Signature, int> known;
        std::vector<int> finer(factor.size);
        for (int s = 0; s < factor.size; ++s) {
            Signature signature{block[s], {}};
            for (const Step &step : out[s]) signature.second.emplace_back(step.label, block[step.to]);
            std::sort(signature.second.begin(), signature.second.end());
            signature.second.erase(std::unique(signature.second.begin(), signature.second.end()),
                                   signature.second.end());
            finer[s] = known.emplace(std::move(signature), static_cast<int>(known.size())).first->second;
        }
        block = std::move(finer);
        if (known.size() == blocks) break;
        blocks = known.size();
    }
    if (static_cast<int>(blocks) == factor.size) return false;
    rename_states(factor, block, static_cast<int>(blocks));
    drop_loops(factor);
    return true;
}

}  // namespace misstep::dominance
