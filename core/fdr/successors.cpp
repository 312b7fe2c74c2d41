#include "fdr/successors.h"

#include <algorithm>

#include "base/interrupt.h"
#include "fdr/sort_few.h"

namespace misstep {

namespace {
std::vector<std::vector<Fact>> all_preconditions(const Task &task) {
    std::vector<std::vector<Fact>> result;
    result.reserve(task.operator_count());
    for (OperatorId op = 0; op < task.operator_count(); ++op) {
        const auto facts = task.preconditions(op);
        result.emplace_back(facts.begin(), facts.end());
    }
    return result;
}
}  // namespace

SuccessorGenerator::SuccessorGenerator(const Task &task)
    : task_(task), packer_(task.domain_sizes()), tree_(task.domain_sizes(), all_preconditions(task)) {
    task.refuse_axioms("the successor generator");
    write_offsets_.push_back(0);
    for (OperatorId op = 0; op < task.operator_count(); ++op) {
        let_interrupt();
        bool conditional = false;
        for (int i = 0; i < task.effect_count(op); ++i) conditional |= !task.effect(op, i).conditions.empty();
        conditional_.push_back(conditional);
        if (!conditional) append_writes(task.effect_facts(op), writes_);
        write_offsets_.push_back(static_cast<int>(writes_.size()));
    }
    append_writes(task.goal(), goal_);
}

void SuccessorGenerator::append_writes(std::span<const Fact> facts, std::vector<Write> &writes) const {
    const std::size_t first = writes.size();
    for (const Fact &fact : facts) {
        const int word = packer_.word_of(fact.variable);
        auto write = std::find_if(writes.begin() + first, writes.end(), [&](const Write &w) { return w.word == word; });
        if (write == writes.end()) write = writes.insert(write, {~std::uint64_t{0}, 0, word});
        const std::uint64_t mask = packer_.mask_of(fact.variable);
        write->keep &= ~mask;
        write->bits = (write->bits & ~mask) | packer_.bits_of(fact.variable, fact.value);
    }
}

void SuccessorGenerator::apply_conditional(OperatorId op, const std::uint64_t *from, std::uint64_t *to) const {
    for (int i = 0; i < task_.effect_count(op); ++i) {
        const Effect effect = task_.effect(op, i);
        const bool fires = std::all_of(effect.conditions.begin(), effect.conditions.end(), [&](const Fact &fact) {
            return packer_.get(from, fact.variable) == fact.value;
        });
        if (fires) packer_.set(to, effect.fact.variable, effect.fact.value);
    }
}

void SuccessorGenerator::applicable(const int *values, std::vector<OperatorId> &result) const {
    let_interrupt();
    result.clear();
    for_each_applicable(PlainValues{values}, [&](OperatorId op) { result.push_back(op); });
    sort_few(result.data(), result.data() + result.size());
}

}  // namespace misstep
