#include "asnets/asnet.h"
#include "asnets/segments.h"
#include "bindings.h"

namespace misstep::bindings {

namespace {

using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// An ASNet with the task it belongs to, which must outlive it.
struct BoundASNet : ASNet, Owned {
    BoundASNet(TaskHandle &owner, ASNetStructure structure, int hidden, int layers, const Weights &weights,
               const std::string &kernels, int max_table_bits)
        : ASNet(std::move(structure), owner.generator, hidden, layers, {weights.data(), weights.size()}, kernels,
                max_table_bits),
          Owned(owner) {}
};

void check_candidates(const BoundASNet &net, const StateBatch &states, const Offsets &offsets,
                      const OperatorBatch &operators) {
    check_batch(net.handle, states);
    bool valid = offsets.size() == states.shape(0) + 1 && offsets.data()[0] == 0 &&
                 offsets.data()[offsets.size() - 1] == static_cast<std::int64_t>(operators.size());
    for (std::size_t i = 0; valid && i + 1 < offsets.size(); ++i) valid = offsets.data()[i] <= offsets.data()[i + 1];
    if (!valid) throw nb::value_error("the offsets of the candidates do not fit the states and the operators");
    for (std::size_t i = 0; i < operators.size(); ++i)
        if (operators.data()[i] < 0 || operators.data()[i] >= net.handle.task.operator_count())
            throw nb::value_error("a candidate is not an operator of the task");
}

std::span<const OperatorId> candidates_of(std::size_t row, const Offsets &offsets, const OperatorBatch &operators) {
    return {operators.data() + offsets.data()[row], operators.data() + offsets.data()[row + 1]};
}

std::vector<float> logits(BoundASNet &net, const StateBatch &states, const Offsets &offsets,
                          const OperatorBatch &operators) {
    check_candidates(net, states, offsets, operators);
    std::vector<float> result(operators.size());
    for (std::size_t i = 0; i < states.shape(0); ++i)
        net.evaluate(states.data() + i * states.shape(1), candidates_of(i, offsets, operators),
                     result.data() + offsets.data()[i]);
    return result;
}

using FloatRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutRows = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Index = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Winners = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutWinners = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check(bool right, const char *what) {
    if (!right) throw nb::value_error(what);
}

void check_rows(const Index &index, std::size_t rows) {
    for (std::size_t i = 0; i < index.size(); ++i)
        check(index.data()[i] >= 0 && static_cast<std::size_t>(index.data()[i]) < rows, "a row that is not there");
}

// Operations of training that a general tensor library does slowly.
void define_segments(nb::module_ &module) {
    module.def(
        "segment_max",
        [](const FloatRows &x, const Index &members, const Index &offsets, float empty, const OutRows &out,
           const OutWinners &winner) {
            const std::size_t segments = out.shape(0);
            check(offsets.size() == segments + 1 && offsets.data()[0] == 0 &&
                      offsets.data()[segments] == static_cast<std::int32_t>(members.size()) &&
                      winner.shape(0) == segments && winner.shape(1) == x.shape(1) && out.shape(1) == x.shape(1),
                  "arrays of other sizes");
            for (std::size_t s = 0; s < segments; ++s)
                check(offsets.data()[s] <= offsets.data()[s + 1], "offsets that decrease");
            check_rows(members, x.shape(0));
            segment_max(x.data(), members.data(), offsets.data(), segments, x.shape(1), empty, out.data(),
                        winner.data());
        },
        nb::arg("x"), nb::arg("members"), nb::arg("offsets"), nb::arg("empty"), nb::arg("out"), nb::arg("winner"));

    module.def(
        "scatter_winners",
        [](const FloatRows &gradient, const Winners &winner, const OutRows &out) {
            check(winner.shape(0) == gradient.shape(0) && winner.shape(1) == gradient.shape(1) &&
                      out.shape(1) == gradient.shape(1),
                  "arrays of other sizes");
            for (std::size_t i = 0; i < winner.size(); ++i)
                check(winner.data()[i] < static_cast<std::int64_t>(out.shape(0)), "a row that is not there");
            scatter_winners(gradient.data(), winner.data(), gradient.shape(0), gradient.shape(1), out.data());
        },
        nb::arg("gradient"), nb::arg("winner"), nb::arg("out"));

    module.def(
        "scatter_rows",
        [](const FloatRows &gradient, const Index &index, const OutRows &out) {
            check(index.size() == gradient.shape(0) && out.shape(1) == gradient.shape(1), "arrays of other sizes");
            check_rows(index, out.shape(0));
            scatter_rows(gradient.data(), index.data(), gradient.shape(0), gradient.shape(1), out.data());
        },
        nb::arg("gradient"), nb::arg("index"), nb::arg("out"));
}

}  // namespace

void define_asnets(nb::module_ &module) {
    nb::class_<BoundASNet>(module, "ASNet", "An Action Schema Network on a task. One object per thread.")
        .def(
            "__init__",
            [](BoundASNet *self, TaskHandle &task, const std::vector<std::vector<int>> &slots, int predicate_count,
               const Integers &schema_begin, const Integers &operators, const Integers &related,
               const Integers &predicate_begin, const Integers &fact_variable, const Integers &fact_value,
               const Integers &fact_goal, int hidden, int layers, const Weights &weights, const std::string &kernels,
               int max_table_bits) {
                ASNetStructure structure{slots,
                                         predicate_count,
                                         to_vector(schema_begin),
                                         to_vector(operators),
                                         to_vector(related),
                                         to_vector(predicate_begin),
                                         to_vector(fact_variable),
                                         to_vector(fact_value),
                                         to_vector(fact_goal)};
                new (self) BoundASNet(task, std::move(structure), hidden, layers, weights, kernels, max_table_bits);
            },
            nb::arg("task"), nb::kw_only(), nb::arg("slots"), nb::arg("predicate_count"), nb::arg("schema_begin"),
            nb::arg("operators"), nb::arg("related"), nb::arg("predicate_begin"), nb::arg("fact_variable"),
            nb::arg("fact_value"), nb::arg("fact_goal"), nb::arg("hidden"), nb::arg("layers"), nb::arg("weights"),
            nb::arg("kernels") = "", nb::arg("max_table_bits") = ASNetInputs::MAX_BITS, nb::keep_alive<1, 2>())
        .def_prop_ro(
            "kernels", [](const BoundASNet &self) { return self.kernels(); }, "The instruction set in use.")
        .def(
            "policy",
            [](BoundASNet &self) {
                // The Python object owns the network; the policy keeps that object alive.
                return new PolicyHandle(self.handle, std::shared_ptr<NativePolicy>(&self, [](NativePolicy *) {}));
            },
            nb::keep_alive<0, 1>(), "The network as a policy.")
        .def(
            "logits",
            [](BoundASNet &self, const StateBatch &states, const Offsets &offsets, const OperatorBatch &operators) {
                return to_numpy(logits(self, states, offsets, operators));
            },
            nb::arg("states"), nb::arg("offsets"), nb::arg("operators"), "The number of each candidate.");
    define_segments(module);
}

}  // namespace misstep::bindings
