#pragma once

#include <algorithm>
#include <vector>

#include "../cpp/tasks.h"
#include "bytes.h"

// Tasks that are small enough to compare all pairs of their states.
namespace misstep::test {

inline std::vector<int> draw_sizes(Bytes &bytes) {
    std::vector<int> sizes;
    for (int v = bytes.below(4), room = 64; v >= 0; --v) {
        sizes.push_back(1 + bytes.below(std::min(room, 4)));
        room /= sizes.back();
    }
    return sizes;
}

inline std::vector<Fact> draw_facts(Bytes &bytes, const std::vector<int> &sizes) {
    std::vector<Fact> facts;
    for (int v = 0; v < static_cast<int>(sizes.size()); ++v)
        if (const int value = bytes.below(2 * sizes[v]); value < sizes[v]) facts.push_back({v, value});
    return facts;
}

inline Task draw_task(Bytes &bytes, const std::vector<int> &sizes) {
    const bool conditional = bytes.below(4) == 0;
    std::vector<int> initial;
    for (const int size : sizes) initial.push_back(bytes.below(size));
    std::vector<Fact> goal = draw_facts(bytes, sizes);
    std::vector<Task::RawOperator> operators;
    while (!bytes.empty() && operators.size() < 12) {
        Task::RawOperator op{"", draw_facts(bytes, sizes), {}, bytes.below(4)};
        if (bytes.rarely()) op.cost = MAX_OPERATOR_COST;
        for (const Fact &fact : draw_facts(bytes, sizes)) {
            op.effects.push_back({{}, fact});
            if (conditional && bytes.below(2)) op.effects.back().conditions = draw_facts(bytes, sizes);
        }
        operators.push_back(std::move(op));
    }
    return make_task(sizes, std::move(initial), std::move(goal), std::move(operators));
}

}  // namespace misstep::test
