#include "wl/wl_policy.h"

#include <utility>

#include "bindings.h"

namespace misstep::bindings {

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Lists = std::pair<Integers, Integers>;  // offsets, and the entries of all lists
using Colours = std::vector<std::pair<std::vector<int>, int>>;

WlRanker::Terms to_terms(const Lists &lists) { return {to_vector(lists.first), to_vector(lists.second)}; }

std::vector<WlRanker::Layer> to_layers(const std::vector<Colours> &given) {
    std::vector<WlRanker::Layer> layers;
    for (const Colours &colours : given) layers.emplace_back(colours.begin(), colours.end());
    return layers;
}

}  // namespace

void define_wl(nb::module_ &module) {
    module.def(
        "wl_policy",
        [](TaskHandle &task, int objects, const Integers &node_colours, const Lists &node_terms,
           const Integers &fact_goals, const Integers &fact_colours, const Lists &fact_terms,
           const std::vector<Colours> &layers, bool multiset, const Doubles &weights, std::uint32_t horizon) {
            WlRanker::Structure structure{
                objects,
                to_vector(node_colours),
                to_terms(node_terms),
                to_vector(fact_goals),
                to_vector(fact_colours),
                to_terms(fact_terms),
            };
            WlRanker ranker(task.task, std::move(structure), to_layers(layers), multiset,
                            {weights.data(), weights.data() + weights.size()});
            return new PolicyHandle(task, std::make_shared<WlPolicy>(task.generator, std::move(ranker), horizon));
        },
        nb::arg("task"), nb::kw_only(), nb::arg("objects"), nb::arg("node_colours"), nb::arg("node_terms"),
        nb::arg("fact_goals"), nb::arg("fact_colours"), nb::arg("fact_terms"), nb::arg("layers"), nb::arg("multiset"),
        nb::arg("weights"), nb::arg("horizon"), nb::keep_alive<0, 1>(),
        "Descends on the values of a Weisfeiler-Leman ranker: greedily, or, with a horizon, to the nearest lower "
        "state.");
}

}  // namespace misstep::bindings
