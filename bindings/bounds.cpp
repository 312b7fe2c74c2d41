#include "graphs.h"
#include "policygraph/greedy_lookahead.h"
#include "policygraph/run_feeder.h"

namespace misstep::bindings {

namespace {

struct RunFeederHandle : RunFeeder {
    RunFeederHandle(PolicyGraphHandle &policy, PlanGraphHandle &plans) : RunFeeder(policy, plans), policy(policy) {
        if (&policy.handle != &plans.handle) throw nb::value_error("the graphs belong to different tasks");
    }
    const PolicyGraphHandle &policy;
};

// Executes the path before anything of it gets into the graph.
void check_path(const Task &task, const State &start, const Plan &operators) {
    std::vector<int> values(start.values());
    for (std::size_t i = 0; i < operators.size(); ++i) {
        const OperatorId op = operators[i];
        if (op < 0 || op >= task.operator_count() || !task.applicable(op, values.data()))
            throw InvalidPlan("step " + std::to_string(i + 1) + ": operator " + std::to_string(op) + " does not apply");
        task.apply(op, values.data(), values.data());
    }
}

nb::tuple look_ahead(PlanGraphHandle &self, const State &state, int depth, std::optional<Cost> bound,
                     std::optional<double> seconds, std::optional<std::uint64_t> expansions) {
    const Limits limits = make_limits(seconds, {}, expansions, {}, nb::none());
    PlanGraph::Budget budget(limits, std::numeric_limits<std::uint64_t>::max());
    const StateId root = self.intern(state);
    std::vector<PlanGraph::Leaf> leaves;
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

nb::tuple close(PlanGraphHandle &self, const State &state, std::optional<double> seconds,
                std::optional<std::size_t> bytes, std::optional<std::uint64_t> expansions, nb::object progress) {
    const Limits limits = make_limits(seconds, bytes, expansions, {}, progress);
    PlanGraph::Budget budget(limits, std::numeric_limits<std::uint64_t>::max());
    const StateId root = self.intern(state);
    bool closed = false;
    {
        closed = self.grow(root, std::numeric_limits<std::uint64_t>::max(), budget);
    }
    return nb::make_tuple(closed, budget.progress.expansions, name(budget.limit));
}

}  // namespace

void define_bounds(nb::class_<PlanGraphHandle> &type) {
    type.def("add_path", [](PlanGraphHandle &self, const State &state, const Plan &operators) {
            self.handle.check(state);
            check_path(self.handle.task, state, operators);
            self.add_path(self.intern(state), operators);
        }, nb::arg("state"), nb::arg("operators"), "Takes in the transitions along a path.")
        .def("look_ahead", &look_ahead, nb::arg("state"), nb::arg("depth"), nb::arg("bound") = nb::none(), nb::kw_only(),
             nb::arg("seconds") = nb::none(), nb::arg("expansions") = nb::none(),
             "Leaves of a lookahead with their costs, expansions, and the limit that ended it.")
        .def("close", &close, nb::arg("state"), nb::kw_only(), nb::arg("seconds") = nb::none(),
             nb::arg("bytes") = nb::none(), nb::arg("expansions") = nb::none(), nb::arg("progress") = nb::none(),
             "Expands all that can be reached, which makes all bounds of it exact.")
        .def("raise_lower_bound", [](PlanGraphHandle &self, const State &state, std::optional<Cost> bound) {
            self.raise_lower_bound(self.intern(state), bound.value_or(INFINITE_COST));
        }, nb::arg("state"), nb::arg("bound").none(), "No plan is cheaper; None: there is no plan.")
        .def("bounds", [](PlanGraphHandle &self, const State &state) {
            const StateId id = self.intern(state);
            return nb::make_tuple(cost_to_python(self.lower_bounds().cost(id)), cost_to_python(self.upper_bounds().cost(id)));
        }, nb::arg("state"), "Lower and upper bound.")
        .def("add_jump", [](PlanGraphHandle &self, const State &state, const State &source, Cost value) {
            const StateId target = self.intern(source);  // before the other: interning may move what is there
            self.add_jump(self.intern(state), target, value);
        }, nb::arg("state"), nb::arg("source"), nb::arg("value"), "Takes in that h*(state) <= h*(source) - value.")
        .def_prop_ro("jumps", [](PlanGraphHandle &self) { return self.upper_bounds().jumps(); })
        .def("derivation", [](PlanGraphHandle &self, const State &state) -> std::optional<nb::list> {
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
        }, nb::arg("state"), "Steps (operator, next state, 0) and jumps (-1, source, value) that prove the upper bound, where "
                             "no plan does; else None.")
        .def("all_bounds", [](PlanGraphHandle &self) {
            const DerivedBounds &upper_bounds = self.upper_bounds();
            const LowerBounds &lower_bounds = self.lower_bounds();
            std::vector<Cost> lower, upper;
            for (StateId id = 0; id < self.transitions().size(); ++id) {
                lower.push_back(lower_bounds.cost(id));
                upper.push_back(upper_bounds.cost(id));
            }
            return nb::make_tuple(costs_to_numpy(lower), costs_to_numpy(upper));
        }, "Lower and upper bounds of all states, in the order of `states`.");
}

struct GreedyLookaheadHandle : GreedyLookahead {
    GreedyLookaheadHandle(PlanGraphHandle &plans, Heuristic &heuristic, const State &state)
        : GreedyLookahead(plans, heuristic, plans.intern(state)), plans(plans) {}
    const PlanGraphHandle &plans;
};

void define_run_feeder(nb::module_ &module) {
    nb::class_<GreedyLookaheadHandle>(module, "GreedyLookahead", "Greedy search whose transitions go into a plan graph.")
        .def("__init__", [](GreedyLookaheadHandle *self, PlanGraphHandle &plans, Heuristic &heuristic, const State &state) {
            check_same_task(plans.handle, &heuristic);
            new (self) GreedyLookaheadHandle(plans, heuristic, state);
        }, nb::arg("plans"), nb::arg("heuristic"), nb::arg("state"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("advance", [](GreedyLookaheadHandle &self, std::uint64_t expansions) {
            const std::vector<StateId> &fresh = self.advance(expansions);
            const std::size_t width = self.plans.handle.task.variable_count();
            std::vector<std::int32_t> values(fresh.size() * width);
            for (std::size_t i = 0; i < fresh.size(); ++i) self.plans.transitions().values(fresh[i], values.data() + i * width);
            return to_numpy(std::move(values), std::vector<std::size_t>{fresh.size(), width});
        }, nb::arg("expansions"), "States met for the first time, one a row.")
        .def_prop_ro("exhausted", &GreedyLookahead::exhausted)
        .def_prop_ro("expansions", &GreedyLookahead::expansions)
        .def_prop_ro("evaluations", &GreedyLookahead::evaluations);
    nb::class_<RunFeederHandle>(module, "RunFeeder", "Brings runs of a policy into a plan graph.")
        .def(nb::init<PolicyGraphHandle &, PlanGraphHandle &>(), nb::arg("policy"), nb::arg("plans"),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("feed", [](RunFeederHandle &self, const Ids &ids, std::optional<std::uint32_t> max_steps) {
            for (StateId id : checked_ids(self.policy, ids)) self.feed(id, max_steps.value_or(RunFeeder::WHOLE_RUN));
        }, nb::arg("ids"), nb::arg("max_steps") = nb::none(), "Takes in the runs from these states of the policy graph.");
}

}  // namespace misstep::bindings
