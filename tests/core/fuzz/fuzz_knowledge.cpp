// Knowledge of another bound store is refused, or added; a third store that is given what the second one then knows has the
// same bounds.
#include <array>
#include <cstdlib>

#include "../cpp/tasks.h"
#include "bounds/knowledge.h"
#include "bytes.h"
#include "fdr/successors.h"

namespace {

using namespace misstep;

const std::vector<int> SIZES{2, 3, 3};

// Rows of states, and edges between them. Most edges are steps of the task, whose ends are added as rows.
struct Drawn {
    std::vector<std::int32_t> states;
    std::vector<std::int64_t> lower, edges;

    std::size_t rows() const { return states.size() / SIZES.size(); }
    std::int64_t add(const int *state) {
        states.insert(states.end(), state, state + SIZES.size());
        return static_cast<std::int64_t>(rows()) - 1;
    }
    void add_step(test::Bytes &bytes, const Task &task) {
        const std::int64_t source = bytes.index(rows());
        const OperatorId op = bytes.index(static_cast<std::size_t>(task.operator_count()));
        std::int64_t target = 0;
        const bool known = source >= 0 && source < static_cast<std::int64_t>(rows()) && op >= 0 &&
                           op < static_cast<OperatorId>(task.operator_count());
        if (known) {
            const std::array<int, 3> from{states[3 * source], states[3 * source + 1], states[3 * source + 2]};
            if (!task.applicable(op, from.data()) && !bytes.rarely()) return;
            std::array<int, 3> to{};
            task.apply(op, from.data(), to.data());
            target = bytes.rarely() ? bytes.index(rows()) : add(to.data());
        }
        edges.insert(edges.end(), {source, op, target, bytes.rarely() ? bytes.take<std::int64_t>() : 0});
    }
    void add_jump(test::Bytes &bytes) {
        const std::int64_t source = bytes.index(rows()), target = bytes.index(rows());
        if (source == target && !bytes.rarely()) return;
        const std::int64_t value = bytes.rarely() ? bytes.take<std::int64_t>() : bytes.take<std::int8_t>();
        edges.insert(edges.end(), {source, Knowledge::JUMP, target, value});
    }
};

Drawn draw(test::Bytes &bytes, const Task &task) {
    Drawn drawn;
    for (int row = bytes.below(6); row >= 0; --row) {
        int state[3];
        for (std::size_t v = 0; v < SIZES.size(); ++v) state[v] = bytes.below(SIZES[v]);  // the caller has checked them
        drawn.add(state);
    }
    while (!bytes.empty() && drawn.edges.size() < 200) {
        if (bytes.below(4)) drawn.add_step(bytes, task);
        else drawn.add_jump(bytes);
    }
    while (drawn.lower.size() < drawn.rows())
        drawn.lower.push_back(bytes.rarely() ? bytes.take<std::int64_t>() : bytes.below(4) - 1);
    if (bytes.rarely()) drawn.edges.push_back(0);
    return drawn;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const Task task = test::random_task(SIZES, 8, 5);
    static const SuccessorGenerator successors(task);
    test::Bytes bytes(data, size);
    const Drawn drawn = draw(bytes, task);
    BoundStore store(successors), again(successors);
    try {
        add_knowledge(store, drawn.states, drawn.lower, drawn.edges);
    } catch (const InvalidKnowledge &) {
        return 0;
    }
    if (!drawn.edges.empty()) ++test::accepted;
    const Knowledge known = knowledge(store, drawn.states);
    add_knowledge(again, known.states, known.lower, known.edges);
    for (std::size_t i = 0; i < drawn.states.size(); i += SIZES.size()) {
        const StateId one = store.add(drawn.states.data() + i), other = again.add(drawn.states.data() + i);
        if (store.upper_bounds().cost(one) != again.upper_bounds().cost(other) ||
            store.distances().cost(one) != again.distances().cost(other) ||
            store.lower_bounds().cost(one) != again.lower_bounds().cost(other))
            std::abort();
    }
    return 0;
}
