// Weisfeiler-Leman rankers whose arguments contradict each other are refused, and all others give every state a value.
#include <stdexcept>

#include "../cpp/tasks.h"
#include "bytes.h"
#include "fdr/successors.h"
#include "wl/wl_policy.h"

namespace {

using namespace misstep;

const std::vector<int> SIZES{2, 3, 3};

int small(test::Bytes &bytes, int lowest = 0) {
    return bytes.below(32) ? lowest + bytes.below(8 - lowest) : bytes.take<int>();
}

// Lists that mostly have the right number of items, with offsets inside their terms.
WlRanker::Terms terms_of(test::Bytes &bytes, std::size_t items) {
    WlRanker::Terms found;
    found.offsets.push_back(bytes.below(64) ? 0 : small(bytes));
    for (std::size_t i = 0; i < items; ++i) {
        for (int more = bytes.below(3); more > 0; --more) found.terms.push_back(small(bytes));
        found.offsets.push_back(bytes.below(64) ? static_cast<int>(found.terms.size()) : small(bytes));
    }
    return found;
}

WlRanker::Structure structure_of(test::Bytes &bytes, std::size_t facts) {
    WlRanker::Structure structure;
    structure.objects = small(bytes);
    for (int i = bytes.below(10); i > 0; --i) structure.node_colours.push_back(small(bytes, WlRanker::UNSEEN));
    structure.node_terms = terms_of(bytes, structure.node_colours.size());
    if (bytes.below(64) == 0) ++facts;
    for (std::size_t i = 0; i < facts; ++i) {
        structure.fact_goals.push_back(small(bytes, -1));
        structure.fact_colours.push_back(small(bytes, WlRanker::ABSENT));
    }
    structure.fact_terms = terms_of(bytes, facts);
    return structure;
}

std::vector<WlRanker::Layer> layers_of(test::Bytes &bytes) {
    std::vector<WlRanker::Layer> layers(static_cast<std::size_t>(bytes.below(4)));
    for (WlRanker::Layer &layer : layers)
        for (int i = bytes.below(8); i > 0; --i) {
            std::vector<int> key;
            for (int part = bytes.below(8); part > 0; --part) key.push_back(small(bytes));
            layer.emplace(std::move(key), small(bytes));
        }
    return layers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const Task task = test::random_task(SIZES, 8, 5);
    static const SuccessorGenerator successors(task);
    test::Bytes bytes(data, size);
    const bool multiset = bytes.below(2) == 1;
    const auto horizon = static_cast<std::uint32_t>(bytes.below(20));
    WlRanker::Structure structure = structure_of(bytes, static_cast<std::size_t>(task.fact_count()));
    std::vector<WlRanker::Layer> layers = layers_of(bytes);
    std::vector<double> weights;  // the caller has checked that they are finite
    while (weights.size() < 8 && !bytes.empty()) weights.push_back(bytes.take<std::int16_t>());
    try {
        WlPolicy policy(successors, WlRanker(task, std::move(structure), std::move(layers), multiset, weights),
                        horizon);
        std::vector<OperatorId> applicable;
        for (int number = 0; number < 18; ++number) {
            const std::vector<int> state{number % 2, number / 2 % 3, number / 6};
            successors.applicable(state.data(), applicable);
            const OperatorId chosen = policy.choose(state.data(), applicable);
            if (chosen != NO_OPERATOR && std::find(applicable.begin(), applicable.end(), chosen) == applicable.end())
                __builtin_trap();
            if (policy.value(state.data()) != policy.value(state.data())) __builtin_trap();
        }
    } catch (const std::invalid_argument &) {
    }
    return 0;
}
