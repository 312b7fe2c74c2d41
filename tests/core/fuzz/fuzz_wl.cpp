// Weisfeiler-Leman rankers whose arguments contradict each other are refused, and all others give every state a value.
#include <stdexcept>

#include "../cpp/tasks.h"
#include "bytes.h"
#include "fdr/successors.h"
#include "wl/wl_policy.h"

namespace {

using namespace misstep;

const std::vector<int> SIZES{2, 3, 3};

constexpr std::size_t COLOURS = 8;

// Lists that mostly have the right number of items, with offsets inside their terms.
WlRanker::Terms terms_of(test::Bytes &bytes, std::size_t items, int objects) {
    WlRanker::Terms found;
    found.offsets.push_back(bytes.rarely() ? bytes.take<int>() : 0);
    for (std::size_t i = 0; i < items; ++i) {
        for (int more = objects ? bytes.below(3) : 0; more > 0; --more)
            found.terms.push_back(bytes.index(static_cast<std::size_t>(objects)));
        found.offsets.push_back(bytes.rarely() ? bytes.take<int>() : static_cast<int>(found.terms.size()));
    }
    return found;
}

// From `lowest`, which stands for a colour that is missing, to the last colour.
int colour(test::Bytes &bytes, int lowest = 0) {
    const int drawn = bytes.index(COLOURS + static_cast<std::size_t>(-lowest));
    return drawn < 0 ? drawn : drawn + lowest;
}

WlRanker::Structure structure_of(test::Bytes &bytes, std::size_t facts) {
    WlRanker::Structure structure;
    structure.objects = bytes.below(6);
    for (int i = structure.objects + bytes.below(5); i > 0; --i)
        structure.node_colours.push_back(colour(bytes, WlRanker::UNSEEN));
    structure.node_terms = terms_of(bytes, structure.node_colours.size(), structure.objects);
    if (bytes.rarely()) ++facts;
    for (std::size_t i = 0; i < facts; ++i) {
        const std::size_t nodes = structure.node_colours.size();
        structure.fact_goals.push_back(bytes.below(2) && nodes ? bytes.index(nodes) : -1);
        structure.fact_colours.push_back(colour(bytes, WlRanker::ABSENT));
    }
    structure.fact_terms = terms_of(bytes, facts, structure.objects);
    if (bytes.rarely()) structure.objects = bytes.take<int>();
    return structure;
}

// A key is a colour, and then for each kind of neighbour its position, its colour and its number. Few kinds occur, so that
// most keys are met.
std::vector<WlRanker::Layer> layers_of(test::Bytes &bytes) {
    std::vector<WlRanker::Layer> layers(static_cast<std::size_t>(bytes.below(4)));
    for (WlRanker::Layer &layer : layers)
        for (int i = bytes.below(16); i > 0; --i) {
            std::vector<int> key{colour(bytes)};
            for (int neighbours = bytes.below(3); neighbours > 0; --neighbours) {
                key.push_back(bytes.below(2));
                key.push_back(colour(bytes));
                key.push_back(1 + bytes.below(2));
            }
            layer.emplace(std::move(key), colour(bytes));
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
    while (weights.size() < (bytes.rarely() ? COLOURS - 1 : COLOURS)) weights.push_back(bytes.take<std::int16_t>());
    try {
        WlPolicy policy(successors, WlRanker(task, std::move(structure), std::move(layers), multiset, weights),
                        horizon);
        ++test::accepted;
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
