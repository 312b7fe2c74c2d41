#include "graphs.h"
#include "oracles/greedy_lookahead.h"
#include "oracles/run_feeder.h"
#include "oracles/way_back.h"

namespace misstep::bindings {

namespace {

struct RunFeederHandle : RunFeeder {
    RunFeederHandle(PolicyGraphHandle &policy, BoundStoreHandle &store) : RunFeeder(policy, store), policy(policy) {
        if (&policy.handle != &store.handle)
            throw nb::value_error("the policy graph and the store belong to different tasks");
    }
    const PolicyGraphHandle &policy;
};

struct GreedyLookaheadHandle : GreedyLookahead {
    GreedyLookaheadHandle(BoundStoreHandle &store, Heuristic &heuristic, const State &state)
        : GreedyLookahead(store, heuristic, store.intern(state)), store(store) {}
    const BoundStoreHandle &store;
};

struct WayBackHandle : Owned, WayBack {
    explicit WayBackHandle(TaskHandle &task) : Owned(task), WayBack(task.generator, task.relaxed()) {}
};

nb::tuple way_to_python(const WayBack::Way &way) {
    return nb::make_tuple(way.found ? nb::cast(way.operators) : nb::none(), way.cost, way.target, way.expansions,
                          name(way.limit));
}

using PlanCosts = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple go_back(WayBackHandle &self, const StateBatch &walk, const PlanCosts &plans, double bound,
                  std::uint64_t expansions, std::optional<double> seconds) {
    check_batch(self.handle, walk);
    if (walk.shape(0) == 0 || plans.shape(0) != walk.shape(0))
        throw nb::value_error("a walk of at least one state, and as many costs of plans as states, are needed");
    const auto to_cost = [](double value) {
        if (!(value >= 0)) throw nb::value_error("a plan costs nothing or more");
        return value >= static_cast<double>(INFINITE_COST) ? INFINITE_COST : static_cast<Cost>(value);
    };
    std::vector<Cost> costs;
    for (std::size_t i = 0; i < plans.shape(0); ++i) costs.push_back(to_cost(plans.data()[i]));
    const Limits limits = make_limits(seconds, {}, expansions, {}, nb::none());
    return way_to_python(self.back({walk.data(), walk.size()}, costs, to_cost(bound), limits));
}

}  // namespace

void define_oracles(nb::module_ &module) {
    nb::class_<WayBackHandle>(module, "WayBack", "Goes back along walks of a task.")
        .def(nb::init<TaskHandle &>(), nb::arg("task"), nb::keep_alive<1, 2>())
        .def(
            "search",
            [](WayBackHandle &self, const State &start, const State &target, std::uint64_t expansions,
               std::optional<double> seconds) {
                self.handle.check(start);
                self.handle.check(target);
                const Limits limits = make_limits(seconds, {}, expansions, {}, nb::none());
                return way_to_python(self.search(start.values().data(), target.values().data(), limits));
            },
            nb::arg("start"), nb::arg("target"), nb::kw_only(), nb::arg("expansions"), nb::arg("seconds") = nb::none(),
            "A cheapest way to a state at least as good as the target: operators or None, cost, 0, expansions, limit.")
        .def("back", &go_back, nb::arg("walk"), nb::arg("plans"), nb::arg("bound"), nb::kw_only(),
             nb::arg("expansions"), nb::arg("seconds") = nb::none(),
             "From the last state of a walk to one with a plan: operators or None, cost, its row, expansions, limit.");
    nb::class_<GreedyLookaheadHandle>(module, "GreedyLookahead",
                                      "Greedy search whose transitions go into a bound store.")
        .def(
            "__init__",
            [](GreedyLookaheadHandle *self, BoundStoreHandle &store, Heuristic &heuristic, const State &state) {
                check_same_task(store.handle, &heuristic);
                new (self) GreedyLookaheadHandle(store, heuristic, state);
            },
            nb::arg("store"), nb::arg("heuristic"), nb::arg("state"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def(
            "advance",
            [](GreedyLookaheadHandle &self, std::uint64_t expansions) {
                const std::vector<StateId> &fresh = self.advance(expansions);
                const std::size_t width = self.store.handle.task.variable_count();
                std::vector<std::int32_t> values(fresh.size() * width);
                for (std::size_t i = 0; i < fresh.size(); ++i)
                    self.store.transitions().values(fresh[i], values.data() + i * width);
                return to_numpy(std::move(values), std::vector<std::size_t>{fresh.size(), width});
            },
            nb::arg("expansions"), "States met for the first time, one per row.")
        .def_prop_ro("exhausted", &GreedyLookahead::exhausted)
        .def_prop_ro("expansions", &GreedyLookahead::expansions)
        .def_prop_ro("evaluations", &GreedyLookahead::evaluations);
    nb::class_<RunFeederHandle>(module, "RunFeeder", "Brings runs of a policy into a bound store.")
        .def(nb::init<PolicyGraphHandle &, BoundStoreHandle &>(), nb::arg("policy"), nb::arg("store"),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def(
            "feed",
            [](RunFeederHandle &self, const Ids &ids, std::optional<std::uint32_t> max_steps) {
                for (StateId id : checked_ids(self.policy, ids))
                    self.feed(id, max_steps.value_or(RunFeeder::WHOLE_RUN));
            },
            nb::arg("ids"), nb::arg("max_steps") = nb::none(), "Adds the runs from these states of the policy graph.");
}

}  // namespace misstep::bindings
