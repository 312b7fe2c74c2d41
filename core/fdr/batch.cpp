#include "fdr/batch.h"

#include "base/interrupt.h"
#include "fdr/sort_few.h"

namespace misstep {

std::int64_t find_invalid_value(const Task &task, const std::int32_t *states, std::size_t count) {
    const auto domains = task.domain_sizes();
    const std::size_t width = domains.size();
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t *row = states + i * width;
        bool valid = true;  // no early exit, so that the compiler vectorises the loop
        for (std::size_t v = 0; v < width; ++v)
            valid &= static_cast<std::uint32_t>(row[v]) < static_cast<std::uint32_t>(domains[v]);
        if (valid) continue;
        for (std::size_t v = 0; v < width; ++v)
            if (row[v] < 0 || row[v] >= domains[v]) return static_cast<std::int64_t>(i * width + v);
    }
    return -1;
}

void applicable_batch(const SuccessorGenerator &generator, const std::int32_t *states, std::size_t count,
                      std::vector<std::int64_t> &offsets, std::vector<OperatorId> &operators) {
    const std::size_t width = generator.task().variable_count();
    offsets.assign(1, 0);
    offsets.reserve(count + 1);
    operators.clear();
    // The buffer has room for all operators, so that the inner loop needs no check.
    std::vector<OperatorId> found(generator.task().operator_count());
    for (std::size_t i = 0; i < count; ++i) {
        let_interrupt();
        OperatorId *end = found.data();
        generator.for_each_applicable(PlainValues{states + i * width}, [&](OperatorId op) { *end++ = op; });
        sort_few(found.data(), end);
        operators.insert(operators.end(), found.data(), end);
        offsets.push_back(static_cast<std::int64_t>(operators.size()));
    }
}

std::int64_t apply_batch(const Task &task, const std::int32_t *states, const OperatorId *operators, std::size_t count,
                         std::int32_t *result) {
    const std::size_t width = task.variable_count();
    for (std::size_t i = 0; i < count; ++i) {
        const OperatorId op = operators[i];
        if (op < 0 || op >= task.operator_count() || !task.applicable(op, states + i * width))
            return static_cast<std::int64_t>(i);
        task.apply(op, states + i * width, result + i * width);
    }
    return -1;
}

void is_goal_batch(const Task &task, const std::int32_t *states, std::size_t count, bool *result) {
    const std::size_t width = task.variable_count();
    for (std::size_t i = 0; i < count; ++i) result[i] = task.is_goal(states + i * width);
}

}  // namespace misstep
