#include "safety/policies.h"

#include <algorithm>

namespace misstep::safety {

LabelId BlacklistShield::choose(StateId id, std::span<const LabelId> applicable) {
    const LabelId choice = inner_->choose(id, applicable);
    const auto entry = forbidden_.find(id);
    if (entry == forbidden_.end()) return choice;
    const std::vector<LabelId> &forbidden = entry->second;
    const auto is_forbidden = [&](LabelId label) {
        return std::find(forbidden.begin(), forbidden.end(), label) != forbidden.end();
    };
    if (!is_forbidden(choice)) return choice;
    std::vector<LabelId> allowed;
    for (LabelId label : applicable)
        if (!is_forbidden(label)) allowed.push_back(label);
    if (allowed.empty()) return choice;
    if (!inner_->has_values()) return allowed.front();
    std::vector<double> values(allowed.size());
    inner_->values(id, allowed, values);
    return allowed[static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin())];
}

}  // namespace misstep::safety
