#include <utility>

#include "bindings.h"
#include "nets/mlp.h"
#include "nets/trees.h"

namespace misstep::bindings {

namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<double> doubles_of(const Row &array) { return {array.data(), array.data() + array.size()}; }

nb::object evaluate(Network &network, const Rows &batch) {
    if (batch.shape(1) != static_cast<std::size_t>(network.inputs()))
        throw nb::value_error("the rows do not have as many numbers as the network has inputs");
    std::vector<double> outputs(batch.shape(0) * static_cast<std::size_t>(network.outputs()));
    network.evaluate(batch.data(), static_cast<int>(batch.shape(0)), outputs.data());
    return to_numpy(std::move(outputs),
                    std::vector<std::size_t>{batch.shape(0), static_cast<std::size_t>(network.outputs())});
}

std::vector<std::int32_t> choose(const Rows &outputs, const Mask &allowed) {
    if (outputs.shape(0) != allowed.shape(0) || outputs.shape(1) != allowed.shape(1))
        throw nb::value_error("outputs and what is allowed differ in shape");
    std::vector<std::int32_t> chosen(outputs.shape(0));
    for (std::size_t i = 0; i < chosen.size(); ++i)
        chosen[i] = choose_output(outputs.data() + i * outputs.shape(1), allowed.data() + i * outputs.shape(1),
                                  static_cast<int>(outputs.shape(1)));
    return chosen;
}

std::vector<Trees::Tree> tree_list(const Integers &nodes, const Integers &leaves, const Integers &outputs) {
    if (nodes.size() != leaves.size() || nodes.size() != outputs.size())
        throw nb::value_error("the lists of the trees differ in length");
    std::vector<Trees::Tree> trees;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        trees.push_back({nodes.data()[i], leaves.data()[i], outputs.data()[i]});
    return trees;
}

std::vector<Trees::Node> node_list(const Integers &feature, const Row &threshold, const Integers &left,
                                   const Integers &right) {
    if (feature.size() != threshold.size() || feature.size() != left.size() || feature.size() != right.size())
        throw nb::value_error("the lists of the nodes differ in length");
    std::vector<Trees::Node> nodes;
    for (std::size_t i = 0; i < feature.size(); ++i)
        nodes.push_back({threshold.data()[i], feature.data()[i], left.data()[i], right.data()[i]});
    return nodes;
}

}  // namespace

void define_nets(nb::module_ &module) {
    nb::class_<Network>(module, "Network", "A function from rows of numbers to rows of numbers. One object per thread.")
        .def_prop_ro("inputs", &Network::inputs)
        .def_prop_ro("outputs", &Network::outputs)
        .def("evaluate", &evaluate, nb::arg("batch"));

    nb::class_<LayerNorm>(module, "LayerNorm", "A normalisation of the numbers of a row, behind so many layers.")
        .def(
            "__init__",
            [](LayerNorm *self, int place, bool late, double epsilon, const Row &scale, const Row &shift) {
                new (self) LayerNorm{place, late, epsilon, doubles_of(scale), doubles_of(shift)};
            },
            nb::kw_only(), nb::arg("place"), nb::arg("late"), nb::arg("epsilon"), nb::arg("scale"), nb::arg("shift"));

    nb::class_<Mlp, Network>(module, "Mlp", "A fully connected network.")
        .def(
            "__init__",
            [](Mlp *self, const std::vector<int> &sizes, const Row &weights, const Row &mean, const Row &range,
               double output_mean, double output_range, const std::string &kernels, const std::string &activation,
               double parameter, const std::vector<LayerNorm> &norms) {
                new (self) Mlp(sizes, {weights.data(), weights.size()},
                               {doubles_of(mean), doubles_of(range), output_mean, output_range}, kernels,
                               Activation::named(activation, parameter), norms);
            },
            nb::arg("sizes"), nb::arg("weights"), nb::kw_only(), nb::arg("mean"), nb::arg("range"),
            nb::arg("output_mean"), nb::arg("output_range"), nb::arg("kernels") = "", nb::arg("activation") = "relu",
            nb::arg("parameter") = 0.0, nb::arg("norms") = std::vector<LayerNorm>{})
        .def_prop_ro("kernels", [](const Mlp &self) { return self.kernels(); }, "The instruction set in use.");

    nb::class_<Trees, Network>(module, "Trees", "An ensemble of decision trees.")
        .def(
            "__init__",
            [](Trees *self, int inputs, int outputs, bool strict, bool single, const Integers &nodes,
               const Integers &leaves, const Integers &tree_outputs, const Integers &feature, const Row &threshold,
               const Integers &left, const Integers &right, const Row &values, const Row &base) {
                new (self) Trees(inputs, outputs, {strict, single}, tree_list(nodes, leaves, tree_outputs),
                                 node_list(feature, threshold, left, right), doubles_of(values), doubles_of(base));
            },
            nb::arg("inputs"), nb::arg("outputs"), nb::kw_only(), nb::arg("strict"), nb::arg("single"),
            nb::arg("nodes"), nb::arg("leaves"), nb::arg("tree_outputs"), nb::arg("feature"), nb::arg("threshold"),
            nb::arg("left"), nb::arg("right"), nb::arg("values"), nb::arg("base"));

    module.def(
        "choose_outputs", [](const Rows &outputs, const Mask &allowed) { return to_numpy(choose(outputs, allowed)); },
        nb::arg("outputs"), nb::arg("allowed"),
        "For each row the allowed output with the highest number; -1 if none is allowed, -2 if a number is not "
        "finite.");

    module.def(
        "available_kernels",
        [] {
            std::vector<std::string> names;
            for (const Kernels *kernels : available_kernels()) names.emplace_back(kernels->name);
            return names;
        },
        "Instruction sets that the networks can use on this machine, the fastest first.");
}

}  // namespace misstep::bindings
