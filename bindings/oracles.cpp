#include "graphs.h"
#include "oracles/greedy_lookahead.h"
#include "oracles/run_feeder.h"

namespace misstep::bindings {

namespace {

struct RunFeederHandle : RunFeeder {
    RunFeederHandle(PolicyGraphHandle &policy, BoundStoreHandle &store) : RunFeeder(policy, store), policy(policy) {
        if (&policy.handle != &store.handle) throw nb::value_error("the policy graph and the store belong to different tasks");
    }
    const PolicyGraphHandle &policy;
};

struct GreedyLookaheadHandle : GreedyLookahead {
    GreedyLookaheadHandle(BoundStoreHandle &store, Heuristic &heuristic, const State &state)
        : GreedyLookahead(store, heuristic, store.intern(state)), store(store) {}
    const BoundStoreHandle &store;
};

}  // namespace

void define_oracles(nb::module_ &module) {
    nb::class_<GreedyLookaheadHandle>(module, "GreedyLookahead", "Greedy search whose transitions go into a bound store.")
        .def("__init__", [](GreedyLookaheadHandle *self, BoundStoreHandle &store, Heuristic &heuristic, const State &state) {
            check_same_task(store.handle, &heuristic);
            new (self) GreedyLookaheadHandle(store, heuristic, state);
        }, nb::arg("store"), nb::arg("heuristic"), nb::arg("state"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("advance", [](GreedyLookaheadHandle &self, std::uint64_t expansions) {
            const std::vector<StateId> &fresh = self.advance(expansions);
            const std::size_t width = self.store.handle.task.variable_count();
            std::vector<std::int32_t> values(fresh.size() * width);
            for (std::size_t i = 0; i < fresh.size(); ++i) self.store.transitions().values(fresh[i], values.data() + i * width);
            return to_numpy(std::move(values), std::vector<std::size_t>{fresh.size(), width});
        }, nb::arg("expansions"), "States met for the first time, one a row.")
        .def_prop_ro("exhausted", &GreedyLookahead::exhausted)
        .def_prop_ro("expansions", &GreedyLookahead::expansions)
        .def_prop_ro("evaluations", &GreedyLookahead::evaluations);
    nb::class_<RunFeederHandle>(module, "RunFeeder", "Brings runs of a policy into a bound store.")
        .def(nb::init<PolicyGraphHandle &, BoundStoreHandle &>(), nb::arg("policy"), nb::arg("store"),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("feed", [](RunFeederHandle &self, const Ids &ids, std::optional<std::uint32_t> max_steps) {
            for (StateId id : checked_ids(self.policy, ids)) self.feed(id, max_steps.value_or(RunFeeder::WHOLE_RUN));
        }, nb::arg("ids"), nb::arg("max_steps") = nb::none(), "Takes in the runs from these states of the policy graph.");
}

}  // namespace misstep::bindings
