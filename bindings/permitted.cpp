#include "policygraph/permitted_graph.h"

#include "graphs.h"

namespace misstep::bindings {

namespace {

struct PermittedGraphHandle : Owned, PermittedGraph {
    PermittedGraphHandle(TaskHandle &task, std::uint32_t limit, bool dearest)
        : Owned(task), PermittedGraph(task.generator, limit, dearest) {}

    void check_id(StateId id) const {
        if (id >= size()) throw nb::index_error("the permitted graph has no such state");
    }
    StateId checked(StateId id) const {
        check_id(id);
        return id;
    }
};

using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void permit(PermittedGraphHandle &self, const Ids &ids, const Offsets &offsets, const OperatorBatch &operators) {
    const std::vector<StateId> checked = checked_ids(self, ids);
    if (offsets.shape(0) != checked.size() + 1) throw nb::value_error("one offset more than states is needed");
    for (OperatorId op : std::span(operators.data(), operators.shape(0)))
        if (op < 0 || op >= self.task().operator_count()) throw nb::value_error("the task has no such operator");
    for (std::size_t i = 0; i < checked.size(); ++i) {
        const std::int64_t from = offsets.data()[i], to = offsets.data()[i + 1];
        if (from < 0 || to < from || to > static_cast<std::int64_t>(operators.shape(0)))
            throw nb::value_error("the offsets are out of order");
        self.permit(checked[i], {operators.data() + from, operators.data() + to});
    }
}

nb::tuple edges(const PermittedGraphHandle &self, const Ids &ids) {
    std::vector<std::int64_t> offsets{0}, successors;
    std::vector<OperatorId> operators;
    for (StateId id : checked_ids(self, ids)) {
        for (OperatorId op : self.operators(id)) operators.push_back(op);
        for (StateId successor : self.successors(id))
            successors.push_back(successor == NO_STATE ? -1 : static_cast<std::int64_t>(successor));
        offsets.push_back(static_cast<std::int64_t>(operators.size()));
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(operators)),
                          to_numpy(std::move(successors)));
}

}  // namespace

void define_permitted(nb::module_ &module) {
    nb::class_<PermittedGraphHandle>(module, "PermittedGraph", "What a set-valued policy permits, and its worst run.")
        .def(
            "__init__",
            [](PermittedGraphHandle *self, TaskHandle &task, std::uint32_t limit, bool dearest) {
                if (limit == 0) throw nb::value_error("the limit is 0");
                new (self) PermittedGraphHandle(task, limit, dearest);
            },
            nb::arg("task"), nb::arg("limit"), nb::arg("dearest") = false, nb::keep_alive<1, 2>())
        .def("__len__", &PermittedGraphHandle::size)
        .def("add", &add_states<PermittedGraphHandle>, nb::arg("states"), "Ids of the states, new ones where needed.")
        .def("states", &states_of<PermittedGraphHandle>, nb::arg("ids"))
        .def("permit", &permit, nb::arg("ids"), nb::arg("offsets"), nb::arg("operators"),
             "Stores the permitted operators of states, increasing in each.")
        .def(
            "fail",
            [](PermittedGraphHandle &self, StateId id, bool timed_out) { self.fail(self.checked(id), timed_out); },
            nb::arg("id"), nb::arg("timed_out") = false, "Stores that there is no answer for a state.")
        .def(
            "explore",
            [](PermittedGraphHandle &self, const Ids &ids) {
                return to_numpy(std::vector<StateId>(self.explore(checked_ids(self, ids))));
            },
            nb::arg("ids"), "States to ask about before the chooser knows what to do in these; none: it knows.")
        .def(
            "choices",
            [](const PermittedGraphHandle &self, const Ids &ids) {
                std::vector<OperatorId> result;
                for (StateId id : checked_ids(self, ids)) result.push_back(self.choice(id));
                return to_numpy(std::move(result));
            },
            nb::arg("ids"), "Operator, -1 no action, -2 failed, -3 not explored, -4 timed out.")
        .def(
            "facts",
            [](PermittedGraphHandle &self, StateId id) {
                const auto facts = self.facts(self.checked(id));
                const auto finite = [](Cost cost) {
                    return cost >= INFINITE_COST ? std::optional<Cost>() : std::optional(cost);
                };
                return nb::make_tuple(facts.closed, finite(facts.least), finite(facts.most));
            },
            nb::arg("id"), "Whether closed, the least cost of a permitted run, the most; None is infinite.")
        .def(
            "region", [](PermittedGraphHandle &self, StateId id) { return to_numpy(self.region(self.checked(id))); },
            nb::arg("id"), "The states whose permitted operators prove the facts.")
        .def(
            "answered",
            [](const PermittedGraphHandle &self, const Ids &ids) {
                std::vector<std::uint8_t> result;
                for (StateId id : checked_ids(self, ids)) result.push_back(self.is_set(id));
                return to_numpy(std::move(result));
            },
            nb::arg("ids"), "Whether the permitted operators of the states are known.")
        .def(
            "goals",
            [](const PermittedGraphHandle &self, const Ids &ids) {
                std::vector<std::uint8_t> result;
                for (StateId id : checked_ids(self, ids)) result.push_back(self.is_goal(id));
                return to_numpy(std::move(result));
            },
            nb::arg("ids"))
        .def("edges", &edges, nb::arg("ids"), "Offsets, operators and successors (-1: it does not apply).");
}

}  // namespace misstep::bindings
