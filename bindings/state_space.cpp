#include "fdr/state_space.h"
#include "bindings.h"

namespace misstep::bindings {

void define_state_space(nb::module_ &module) {
    nb::class_<StateSpace>(module, "StateSpace")
        .def(
            "__init__",
            [](StateSpace *self, const TaskHandle &task, const std::vector<State> &roots, std::optional<double> seconds,
               std::optional<std::size_t> bytes, std::optional<std::uint64_t> states, nb::object progress) {
                std::vector<std::vector<int>> values;
                for (const State &root : roots) {
                    task.check(root);
                    values.push_back(root.values());
                }
                const Limits limits = make_limits(seconds, bytes, states, std::nullopt, progress);
                nb::gil_scoped_release unlock;
                new (self) StateSpace(task.generator, values, limits);
            },
            nb::arg("task"), nb::arg("roots"), nb::kw_only(), nb::arg("seconds") = nb::none(),
            nb::arg("bytes") = nb::none(), nb::arg("states") = nb::none(), nb::arg("progress") = nb::none(),
            nb::keep_alive<1, 2>())
        .def_prop_ro("complete", &StateSpace::complete)
        .def_prop_ro("limit", [](const StateSpace &self) { return name(self.limit()); })
        .def("__len__", &StateSpace::size)
        .def_prop_ro("transition_count", &StateSpace::transition_count)
        .def_prop_ro("bytes", &StateSpace::bytes)
        .def_prop_ro("registry_bytes", [](const StateSpace &self) { return self.registry().bytes(); })
        .def_prop_ro(
            "h_star", [](const StateSpace &self) { return costs_to_numpy(self.h_star()); },
            "Exact cost to the goal, infinity at dead ends.")
        .def_prop_ro(
            "best_operator", [](const StateSpace &self) { return to_numpy(std::vector(self.best_operator())); },
            "An operator on a cheapest plan (of these, a shortest), -1 at goals and dead ends.")
        .def_prop_ro("is_goal",
                     [](const StateSpace &self) {
                         return to_numpy(std::vector<std::uint8_t>(self.is_goal().begin(), self.is_goal().end()));
                     })
        .def_prop_ro("parents",
                     [](const StateSpace &self) {
                         return to_numpy(std::vector<std::int64_t>(self.parents().begin(), self.parents().end()));
                     })
        .def_prop_ro("parent_operators",
                     [](const StateSpace &self) { return to_numpy(std::vector(self.parent_operators())); })
        .def(
            "transitions",
            [](const StateSpace &self, StateId id) {
                if (id >= self.size()) throw nb::index_error("no such state");
                nb::list result;
                for (std::uint64_t e = self.first(id); e < self.first(id + 1); ++e)
                    result.append(nb::make_tuple(self.operators()[e], self.targets()[e]));
                return result;
            },
            "Pairs (operator, state id), by operator.")
        .def("state",
             [](const StateSpace &self, StateId id) {
                 if (id >= self.size()) throw nb::index_error("no such state");
                 std::vector<int> values(self.generator().task().variable_count());
                 self.values(id, values.data());
                 return State(std::move(values));
             })
        .def(
            "find",
            [](const StateSpace &self, const State &state) -> std::int64_t {
                if (state.values().size() != static_cast<std::size_t>(self.generator().task().variable_count()))
                    return -1;
                const auto domains = self.generator().task().domain_sizes();
                for (std::size_t v = 0; v < domains.size(); ++v)
                    if (state.values()[v] >= domains[v]) return -1;
                const StateId id = self.find(state.values().data());
                return id == NO_STATE ? -1 : static_cast<std::int64_t>(id);
            },
            "The id of a state, -1 if it is not reachable.")
        .def(
            "states",
            [](const StateSpace &self) {
                const std::size_t width = self.generator().task().variable_count();
                std::vector<std::int32_t> values(std::size_t{self.size()} * width);
                for (StateId s = 0; s < self.size(); ++s) self.values(s, values.data() + s * width);
                const std::vector<std::size_t> shape{self.size(), width};
                return to_numpy(std::move(values), shape);
            },
            "All states as one array, a row a state, by id.");
}

}  // namespace misstep::bindings
