#include "bounds/knowledge.h"
#include "graphs.h"

namespace misstep::bindings {

namespace {

// Executes the path, so that a wrong path is refused before anything is added to the store.
void check_path(const Task &task, const State &start, const Plan &operators) {
    std::vector<int> values(start.values());
    for (std::size_t i = 0; i < operators.size(); ++i) {
        const OperatorId op = operators[i];
        if (op < 0 || op >= task.operator_count() || !task.applicable(op, values.data()))
            throw InvalidPlan("step " + std::to_string(i + 1) + ": operator " + std::to_string(op) + " does not apply");
        task.apply(op, values.data(), values.data());
    }
}

nb::tuple look_ahead(BoundStoreHandle &self, const State &state, int depth, std::optional<Cost> bound,
                     std::optional<double> seconds, std::optional<std::uint64_t> expansions) {
    const Limits limits = make_limits(seconds, {}, expansions, {}, nb::none());
    BoundStore::Budget budget(limits, std::numeric_limits<std::uint64_t>::max());
    const StateId root = self.intern(state);
    std::vector<BoundStore::Leaf> leaves;
    {
        leaves = self.look_ahead(root, depth, bound.value_or(INFINITE_COST), budget);
    }
    const std::size_t width = self.handle.task.variable_count();
    std::vector<std::int32_t> values(leaves.size() * width);
    std::vector<std::int64_t> costs;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        self.transitions().values(leaves[i].state, values.data() + i * width);
        costs.push_back(leaves[i].cost);
    }
    const std::vector<std::size_t> shape{leaves.size(), width};
    return nb::make_tuple(to_numpy(std::move(values), shape), to_numpy(std::move(costs)), budget.progress.expansions,
                          name(budget.limit));
}

nb::tuple close(BoundStoreHandle &self, const State &state, std::optional<double> seconds,
                std::optional<std::size_t> bytes, std::optional<std::uint64_t> expansions, nb::object progress) {
    const Limits limits = make_limits(seconds, bytes, expansions, {}, progress);
    BoundStore::Budget budget(limits, std::numeric_limits<std::uint64_t>::max());
    const StateId root = self.intern(state);
    bool closed = false;
    {
        closed = self.grow(root, std::numeric_limits<std::uint64_t>::max(), budget);
    }
    return nb::make_tuple(closed, budget.progress.expansions, name(budget.limit));
}

using Numbers = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

template <class Array>
auto span_of(const Array &array) {
    return std::span(array.data(), array.size());
}

nb::tuple take_knowledge(BoundStoreHandle &self, const StateBatch &states) {
    check_batch(self.handle, states);
    Knowledge found = knowledge(self, span_of(states));
    const std::vector<std::size_t> shape{found.lower.size(), states.shape(1)};
    const std::vector<std::size_t> edges{found.edges.size() / Knowledge::EDGE, Knowledge::EDGE};
    return nb::make_tuple(to_numpy(std::move(found.states), shape), to_numpy(std::move(found.lower)),
                          to_numpy(std::move(found.edges), edges));
}

void give_knowledge(BoundStoreHandle &self, const StateBatch &states, const Numbers &lower, const Numbers &edges) {
    check_batch(self.handle, states);
    if (lower.ndim() != 1) throw nb::value_error("lower bounds: one number a state is needed");
    if (edges.ndim() != 2 || edges.shape(1) != Knowledge::EDGE)
        throw nb::value_error("edges: rows of four numbers are needed");
    add_knowledge(self, span_of(states), span_of(lower), span_of(edges));
}

}  // namespace

void define_bounds(nb::module_ &module) {
    nb::class_<BoundStoreHandle>(module, "BoundStore",
                                 "Bounds on the cheapest plan of every state seen, with their witnesses.")
        .def(nb::init<TaskHandle &>(), nb::arg("task"), nb::keep_alive<1, 2>())
        .def("__len__", [](const BoundStoreHandle &self) { return self.transitions().size(); })
        .def_prop_ro("transition_count",
                     [](const BoundStoreHandle &self) { return self.transitions().transition_count(); })
        .def_prop_ro(
            "complete", [](const BoundStoreHandle &self) { return self.complete(); },
            "Nothing is left to be expanded: all bounds are exact.")
        .def_prop_ro("bytes", [](const BoundStoreHandle &self) { return self.bytes(); })
        .def(
            "states",
            [](const BoundStoreHandle &self) {
                const std::size_t width = self.handle.task.variable_count();
                std::vector<std::int32_t> values(self.transitions().size() * width);
                for (StateId id = 0; id < self.transitions().size(); ++id)
                    self.transitions().values(id, values.data() + id * width);
                const std::vector<std::size_t> shape{self.transitions().size(), width};
                return to_numpy(std::move(values), shape);
            },
            "All states of the store, one per row.")
        .def(
            "plan_cost",
            [](BoundStoreHandle &self, const State &state) {
                const StateId id = self.find(state);
                return cost_to_python(id == NO_STATE ? INFINITE_COST : self.distances().cost(id));
            },
            nb::arg("state"), "The cost of the cheapest known plan; infinite if none is known.")
        .def(
            "plan_costs",
            [](BoundStoreHandle &self, const StateBatch &states) {
                check_batch(self.handle, states);
                const GoalDistances &distances = self.distances();
                std::vector<Cost> costs;
                for (std::size_t i = 0; i < states.shape(0); ++i) {
                    const StateId id = self.transitions().find(states.data() + i * states.shape(1));
                    costs.push_back(id == NO_STATE ? INFINITE_COST : distances.cost(id));
                }
                return costs_to_numpy(costs);
            },
            nb::arg("states"), "The same for many states, a row each.")
        .def(
            "upper_bounds",
            [](BoundStoreHandle &self, const StateBatch &states) {
                check_batch(self.handle, states);
                const DerivedBounds &bounds = self.upper_bounds();
                std::vector<Cost> costs;
                for (std::size_t i = 0; i < states.shape(0); ++i) {
                    const StateId id = self.transitions().find(states.data() + i * states.shape(1));
                    costs.push_back(id == NO_STATE ? INFINITE_COST : bounds.cost(id));
                }
                return costs_to_numpy(costs);
            },
            nb::arg("states"))
        .def(
            "witness",
            [](BoundStoreHandle &self, const State &state) -> std::optional<Plan> {
                const StateId id = self.find(state);
                if (id == NO_STATE || self.distances().cost(id) >= INFINITE_COST) return std::nullopt;
                return self.distances().plan(id);
            },
            nb::arg("state"), "The cheapest known plan.")
        .def(
            "add_path",
            [](BoundStoreHandle &self, const State &state, const Plan &operators) {
                self.handle.check(state);
                check_path(self.handle.task, state, operators);
                self.add_path(self.intern(state), operators);
            },
            nb::arg("state"), nb::arg("operators"), "Adds the transitions along a path.")
        .def("look_ahead", &look_ahead, nb::arg("state"), nb::arg("depth"), nb::arg("bound") = nb::none(),
             nb::kw_only(), nb::arg("seconds") = nb::none(), nb::arg("expansions") = nb::none(),
             "Leaves of a lookahead with their costs, expansions, and the limit that ended it.")
        .def("close", &close, nb::arg("state"), nb::kw_only(), nb::arg("seconds") = nb::none(),
             nb::arg("bytes") = nb::none(), nb::arg("expansions") = nb::none(), nb::arg("progress") = nb::none(),
             "Expands all reachable states, which makes all their bounds exact.")
        .def(
            "raise_lower_bound",
            [](BoundStoreHandle &self, const State &state, std::optional<Cost> bound) {
                self.raise_lower_bound(self.intern(state), bound.value_or(INFINITE_COST));
            },
            nb::arg("state"), nb::arg("bound").none(), "No plan is cheaper; None: there is no plan.")
        .def(
            "bounds",
            [](BoundStoreHandle &self, const State &state) {
                const StateId id = self.intern(state);
                return nb::make_tuple(cost_to_python(self.lower_bounds().cost(id)),
                                      cost_to_python(self.upper_bounds().cost(id)));
            },
            nb::arg("state"), "Lower and upper bound.")
        .def(
            "add_jump",
            [](BoundStoreHandle &self, const State &state, const State &source, Cost value) {
                const StateId target = self.intern(source);  // first, since interning may move other states
                self.add_jump(self.intern(state), target, value);
            },
            nb::arg("state"), nb::arg("source"), nb::arg("value"),
            "Adds the proof that h*(state) <= h*(source) - value.")
        .def_prop_ro("jumps", [](BoundStoreHandle &self) { return self.upper_bounds().jumps(); })
        .def(
            "derivation",
            [](BoundStoreHandle &self, const State &state) -> std::optional<nb::list> {
                const StateId id = self.intern(state);
                const DerivedBounds &bounds = self.upper_bounds();
                if (!bounds.is_derived(id)) return std::nullopt;
                nb::list steps;
                std::vector<int> values(self.handle.task.variable_count());
                for (const DerivedBounds::Step &step : bounds.derivation(id)) {
                    self.transitions().values(step.target, values.data());
                    steps.append(nb::make_tuple(step.op, State(values), step.value));
                }
                return steps;
            },
            nb::arg("state"),
            "Steps (operator, next state, 0) and jumps (-1, source, value) that prove the upper bound, where "
            "no plan does; else None.")
        .def(
            "all_bounds",
            [](BoundStoreHandle &self) {
                const DerivedBounds &upper_bounds = self.upper_bounds();
                const LowerBounds &lower_bounds = self.lower_bounds();
                std::vector<Cost> lower, upper;
                for (StateId id = 0; id < self.transitions().size(); ++id) {
                    lower.push_back(lower_bounds.cost(id));
                    upper.push_back(upper_bounds.cost(id));
                }
                return nb::make_tuple(costs_to_numpy(lower), costs_to_numpy(upper));
            },
            "Lower and upper bounds of all states, in the order of `states`.")
        .def("knowledge", &take_knowledge, nb::arg("states"),
             "What the bounds of these states stand on: states, lower bounds (-1: infinite), and edges (source, "
             "operator or "
             "-1, target, value of the jump).")
        .def("add_knowledge", &give_knowledge, nb::arg("states"), nb::arg("lower"), nb::arg("edges"),
             "Adds the `knowledge` of another store.");
}

}  // namespace misstep::bindings
