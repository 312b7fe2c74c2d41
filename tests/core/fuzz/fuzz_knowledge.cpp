// Knowledge of another bound store is refused or added; bounds can be asked for afterwards.
#include "../cpp/tasks.h"
#include "bounds/knowledge.h"
#include "bytes.h"
#include "fdr/successors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace misstep;
    static const std::vector<int> sizes{2, 3, 3};
    static const Task task = test::random_task(sizes, 8, 5);
    static const SuccessorGenerator successors(task);
    test::Bytes bytes(data, size);
    std::vector<std::int32_t> states;
    const int count = bytes.below(8);
    for (int row = 0; row < count; ++row)
        for (int domain : sizes) states.push_back(bytes.below(domain));  // the caller has checked them
    std::vector<std::int64_t> lower;
    for (int row = 0; row < count; ++row) lower.push_back(bytes.take<std::int8_t>());
    if (!lower.empty() && bytes.below(4) == 0) lower.back() = bytes.take<std::int64_t>();
    std::vector<std::int64_t> edges;
    while (!bytes.empty() && edges.size() < 200)
        edges.push_back(bytes.below(8) ? bytes.take<std::int8_t>() : bytes.take<std::int64_t>());
    BoundStore store(successors);
    try {
        add_knowledge(store, states, lower, edges);
    } catch (const InvalidKnowledge &) {
        return 0;
    }
    knowledge(store, states);  // jumps that contradict each other were refused
    return 0;
}
