#include "fdr/value_preorder.h"

#include <algorithm>

namespace misstep {

ValuePreorder::ValuePreorder(const SuccessorGenerator &generator)
    : task_(generator.task()), packer_(generator.packer()), needed_(task_.fact_count(), 0) {
    for (const Fact &fact : task_.goal()) needed_[task_.fact_id(fact)] = 1;
    for (OperatorId op = 0; op < task_.operator_count(); ++op) {
        for (const Fact &fact : task_.preconditions(op)) needed_[task_.fact_id(fact)] = 1;
        for (int i = 0; i < task_.effect_count(op); ++i)
            for (const Fact &condition : task_.effect(op, i).conditions) {
                const auto first = needed_.begin() + task_.fact_offsets()[condition.variable];
                std::fill(first, first + task_.domain_sizes()[condition.variable], 1);
            }
    }
}

std::vector<Fact> ValuePreorder::needed_facts(const int *state) const {
    std::vector<Fact> facts;
    for (int v = 0; v < task_.variable_count(); ++v)
        if (is_needed({v, state[v]})) facts.push_back({v, state[v]});
    return facts;
}

void ValuePreorder::pack_target(const int *state, std::uint64_t *target) const {
    packer_.pack(state, target);
    std::uint64_t *mask = target + packer_.words();
    std::fill(mask, mask + packer_.words(), 0);
    for (const Fact &fact : needed_facts(state)) mask[packer_.word_of(fact.variable)] |= packer_.mask_of(fact.variable);
}

}  // namespace misstep
