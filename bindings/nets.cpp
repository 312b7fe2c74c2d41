#include "bindings.h"
#include "nets/asnet.h"

namespace misstep::bindings {

namespace {

using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<int> to_vector(const Integers &array) { return {array.data(), array.data() + array.size()}; }

// An ASNet with the task it belongs to, which must outlive it.
struct BoundASNet : ASNet, Owned {
    BoundASNet(TaskHandle &owner, ASNetStructure structure, int hidden, int layers, const Numbers &weights,
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

}  // namespace

void define_nets(nb::module_ &module) {
    nb::class_<BoundASNet>(module, "ASNet", "An Action Schema Network on a task. One object a thread.")
        .def("__init__", [](BoundASNet *self, TaskHandle &task, const std::vector<std::vector<int>> &slots,
                            int predicate_count, const Integers &schema_begin, const Integers &operators,
                            const Integers &related, const Integers &predicate_begin, const Integers &fact_variable,
                            const Integers &fact_value, const Integers &fact_goal, int hidden, int layers,
                            const Numbers &weights, const std::string &kernels, int max_table_bits) {
            ASNetStructure structure{slots, predicate_count, to_vector(schema_begin), to_vector(operators),
                                     to_vector(related), to_vector(predicate_begin), to_vector(fact_variable),
                                     to_vector(fact_value), to_vector(fact_goal)};
            new (self) BoundASNet(task, std::move(structure), hidden, layers, weights, kernels, max_table_bits);
        }, nb::arg("task"), nb::kw_only(), nb::arg("slots"), nb::arg("predicate_count"), nb::arg("schema_begin"),
             nb::arg("operators"), nb::arg("related"), nb::arg("predicate_begin"), nb::arg("fact_variable"),
             nb::arg("fact_value"), nb::arg("fact_goal"), nb::arg("hidden"), nb::arg("layers"), nb::arg("weights"),
             nb::arg("kernels") = "", nb::arg("max_table_bits") = ASNetInputs::MAX_BITS, nb::keep_alive<1, 2>())
        .def_prop_ro("kernels", [](const BoundASNet &self) { return self.kernels(); }, "The instruction set in use.")
        .def("policy", [](BoundASNet &self) {
            // The Python object owns the network; the policy keeps that object alive.
            return new PolicyHandle(self.handle, std::shared_ptr<NativePolicy>(&self, [](NativePolicy *) {}));
        }, nb::keep_alive<0, 1>(), "The network as a policy.")
        .def("logits", [](BoundASNet &self, const StateBatch &states, const Offsets &offsets,
                          const OperatorBatch &operators) {
            return to_numpy(logits(self, states, offsets, operators));
        }, nb::arg("states"), nb::arg("offsets"), nb::arg("operators"), "The number of each candidate.");

    module.def("available_kernels", [] {
        std::vector<std::string> names;
        for (const Kernels *kernels : available_kernels()) names.emplace_back(kernels->name);
        return names;
    }, "Instruction sets that the networks can use on this machine, the fastest first.");
}

}  // namespace misstep::bindings
