#include <nanobind/stl/shared_ptr.h>

#include "fdr/state_space.h"
#include "graphs.h"
#include "heuristics/lmcut.h"
#include "heuristics/relaxation_heuristics.h"
#include "policygraph/native_policies.h"
#include "policygraph/runs.h"

namespace misstep::bindings {

std::uint32_t steps_of(std::optional<std::uint32_t> max_steps) {
    return max_steps ? *max_steps : std::numeric_limits<std::uint32_t>::max() - 1;
}

namespace {

std::shared_ptr<Heuristic> make_heuristic(TaskHandle &task, std::string_view name) {
    if (name == "ff") return std::make_shared<HFF>(task.relaxed());
    if (name == "add") return std::make_shared<HAdd>(task.relaxed());
    if (name == "max") return std::make_shared<HMax>(task.relaxed());
    if (name == "lmcut") return std::make_shared<LMCut>(task.task);
    throw nb::value_error("no such heuristic");
}

// Decisions of a batch; with candidates, chosen among them.
nb::tuple decide_batch(
    PolicyHandle &self, const StateBatch &states,
    std::optional<nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>> offsets,
    std::optional<OperatorBatch> operators) {
    check_batch(self.handle, states);
    const std::size_t n = states.shape(0);
    if (offsets.has_value() != operators.has_value() || (offsets && offsets->shape(0) != n + 1))
        throw nb::value_error("candidates need one offset more than there are states");
    std::vector<OperatorId> chosen(n);
    std::vector<double> values(n);
    std::vector<OperatorId> applicable;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t *row = states.data() + i * states.shape(1);
        std::span<const OperatorId> candidates;
        if (offsets) {
            const std::int64_t from = offsets->data()[i], to = offsets->data()[i + 1];
            if (from < 0 || to < from || to > static_cast<std::int64_t>(operators->shape(0)))
                throw nb::value_error("the offsets of the candidates are out of order");
            candidates = {operators->data() + from, operators->data() + to};
            for (OperatorId op : candidates)
                if (op < 0 || op >= self.handle.task.operator_count() || !self.handle.task.applicable(op, row))
                    throw nb::value_error("a candidate does not apply");
        } else {
            self.handle.generator.applicable(row, applicable);
            candidates = applicable;
        }
        chosen[i] = self.native->choose(row, candidates);
        values[i] = self.native->last_value();
    }
    return nb::make_tuple(to_numpy(std::move(chosen)), to_numpy(std::move(values)));
}

void define_policies(nb::module_ &module) {
    nb::class_<PolicyHandle>(module, "NativePolicy", "A policy in native code.")
        .def("decide_batch", &decide_batch, nb::arg("states"), nb::arg("offsets") = nb::none(),
             nb::arg("operators") = nb::none())
        .def(
            "value_batch",
            [](PolicyHandle &self, const StateBatch &states) {
                check_batch(self.handle, states);
                std::vector<double> values(states.shape(0));
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] = self.native->value(states.data() + i * states.shape(1));
                return to_numpy(std::move(values));
            },
            nb::arg("states"))
        .def_prop_ro("evaluations", [](const PolicyHandle &self) { return self.native->evaluations(); });

    module.def(
        "first_policy", [](TaskHandle &task) { return new PolicyHandle(task, std::make_shared<FirstPolicy>()); },
        nb::arg("task"), nb::keep_alive<0, 1>());
    module.def(
        "heuristic_policy",
        [](TaskHandle &task, std::string_view heuristic) {
            return new PolicyHandle(task,
                                    std::make_shared<HeuristicPolicy>(task.task, make_heuristic(task, heuristic)));
        },
        nb::arg("task"), nb::arg("heuristic"), nb::keep_alive<0, 1>());
    module.def(
        "noisy_policy",
        [](TaskHandle &task, double probability, std::uint64_t seed, PolicyHandle *inner) {
            if (inner != nullptr && &inner->handle != &task)
                throw nb::value_error("the policy belongs to another task");
            const Noise noise(task.task.variable_count(), probability, seed);
            return new PolicyHandle(task, std::make_shared<NoisyPolicy>(noise, inner ? inner->native : nullptr));
        },
        nb::arg("task"), nb::arg("probability"), nb::arg("seed"), nb::arg("inner").none(), nb::keep_alive<0, 1>(),
        nb::keep_alive<0, 4>());
    module.def(
        "table_policy",
        [](TaskHandle &task, const StateBatch &states, const OperatorBatch &operators) {
            check_batch(task, states);
            if (states.shape(0) != operators.shape(0)) throw nb::value_error("as many operators as states are needed");
            auto table = std::make_shared<TablePolicy>(task.generator.packer());
            for (std::size_t i = 0; i < states.shape(0); ++i)
                table->set(states.data() + i * states.shape(1), operators.data()[i]);
            return new PolicyHandle(task, std::move(table));
        },
        nb::arg("task"), nb::arg("states"), nb::arg("operators"), nb::keep_alive<0, 1>());
}

void define_graph(nb::module_ &module) {
    nb::class_<PolicyGraphHandle>(module, "PolicyGraph", "The decisions of a policy, and how its runs end.")
        .def(
            "__init__", [](PolicyGraphHandle *self, TaskHandle &task) { new (self) PolicyGraphHandle(task); },
            nb::arg("task"), nb::keep_alive<1, 2>())
        .def("__len__", &PolicyGraphHandle::size)
        .def_prop_ro("decided", &PolicyGraphHandle::decided)
        .def_prop_ro("bytes", &PolicyGraphHandle::bytes)
        .def("add", &add_states<PolicyGraphHandle>, nb::arg("states"), "Ids of the states, new ones where needed.")
        .def("states", &states_of<PolicyGraphHandle>, nb::arg("ids"))
        .def(
            "state",
            [](const PolicyGraphHandle &self, StateId id) {
                self.check_id(id);
                std::vector<int> values(self.task().variable_count());
                self.values(id, values.data());
                return State(std::move(values));
            },
            nb::arg("id"))
        .def(
            "decide",
            [](PolicyGraphHandle &self, const Ids &ids, const OperatorBatch &operators) {
                const std::vector<StateId> checked = checked_ids(self, ids);
                if (operators.shape(0) != checked.size())
                    throw nb::value_error("as many operators as states are needed");
                std::vector<std::uint32_t> contradicted;
                for (std::size_t i = 0; i < checked.size(); ++i)
                    if (!self.decide(checked[i], operators.data()[i]))
                        contradicted.push_back(static_cast<std::uint32_t>(i));
                return contradicted;
            },
            nb::arg("ids"), nb::arg("operators"), "Stores answers; returns the rows that contradict an earlier answer.")
        .def(
            "decisions",
            [](const PolicyGraphHandle &self, const Ids &ids) {
                std::vector<OperatorId> result;
                for (StateId id : checked_ids(self, ids)) result.push_back(self.decision(id));
                return to_numpy(std::move(result));
            },
            nb::arg("ids"), "Operator, -1 no action, -2 failed, -3 not asked, -4 timed out.")
        .def(
            "successors",
            [](const PolicyGraphHandle &self, const Ids &ids) {
                std::vector<std::int64_t> result;
                for (StateId id : checked_ids(self, ids)) {
                    const StateId successor = self.successor(id);
                    result.push_back(successor == NO_STATE ? -1 : static_cast<std::int64_t>(successor));
                }
                return to_numpy(std::move(result));
            },
            nb::arg("ids"), "The successor by the policy; -1: none, or not asked.")
        .def(
            "predecessors",
            [](const PolicyGraphHandle &self, StateId id) {
                self.check_id(id);
                std::vector<StateId> result;
                self.predecessors(id, result);
                return result;
            },
            nb::arg("id"), "States whose decision leads to this one.")
        .def(
            "ends",
            [](PolicyGraphHandle &self, const Ids &ids, std::optional<std::uint32_t> max_steps) {
                const std::vector<StateId> checked = checked_ids(self, ids);
                std::vector<std::uint8_t> outcomes;
                std::vector<std::int64_t> steps, costs;
                outcomes.reserve(checked.size());
                steps.reserve(checked.size());
                costs.reserve(checked.size());
                for (StateId id : checked) {
                    const RunEnd end = self.end(id, steps_of(max_steps));
                    outcomes.push_back(static_cast<std::uint8_t>(end.outcome));
                    steps.push_back(end.steps);
                    costs.push_back(end.cost);
                }
                return nb::make_tuple(to_numpy(std::move(outcomes)), to_numpy(std::move(steps)),
                                      to_numpy(std::move(costs)));
            },
            nb::arg("ids"), nb::arg("max_steps") = nb::none(), "Arrays of outcomes, steps and costs.")
        .def(
            "trace",
            [](PolicyGraphHandle &self, StateId id, std::optional<std::uint32_t> max_steps) {
                self.check_id(id);
                const RunEnd end = self.end(id, steps_of(max_steps));
                std::vector<StateId> states{id};
                std::vector<OperatorId> operators;
                for (std::uint32_t i = 0; i < end.steps; ++i) {
                    operators.push_back(self.decision(states.back()));
                    states.push_back(self.successor(states.back()));
                }
                return nb::make_tuple(to_numpy(std::move(states)), to_numpy(std::move(operators)));
            },
            nb::arg("id"), nb::arg("max_steps") = nb::none(), "State ids and operators along the run.")
        .def(
            "run_native",
            [](PolicyGraphHandle &self, PolicyHandle &policy, const Ids &ids, std::optional<std::uint32_t> max_steps,
               nb::object progress) {
                if (&policy.handle != &self.handle) throw nb::value_error("the policy belongs to another task");
                const std::vector<StateId> starts = checked_ids(self, ids);
                const Limits limits = make_limits(std::nullopt, std::nullopt, std::nullopt, std::nullopt, progress);
                run_native(self, *policy.native, starts, steps_of(max_steps), limits);
            },
            nb::arg("policy"), nb::arg("ids"), nb::arg("max_steps") = nb::none(), nb::arg("progress") = nb::none());

    nb::class_<LockstepRuns>(module, "LockstepRuns")
        .def(
            "__init__",
            [](LockstepRuns *self, PolicyGraphHandle &graph, const Ids &ids, std::optional<std::uint32_t> max_steps) {
                new (self) LockstepRuns(graph, checked_ids(graph, ids), steps_of(max_steps));
            },
            nb::arg("graph"), nb::arg("ids"), nb::arg("max_steps") = nb::none(), nb::keep_alive<1, 2>())
        .def(
            "advance", [](LockstepRuns &self) { return to_numpy(std::vector<StateId>(self.advance())); },
            "States that the policy has to be asked about; empty when all runs are over.");

    nb::list outcomes;
    for (int i = 0; i <= static_cast<int>(Outcome::timeout); ++i) outcomes.append(name(static_cast<Outcome>(i)));
    module.attr("OUTCOMES") = nb::tuple(outcomes);
}

}  // namespace

void define_policygraph(nb::module_ &module) {
    define_policies(module);
    define_graph(module);
}

}  // namespace misstep::bindings
