#include "graphs.h"
#include "improve/action_elimination.h"
#include "improve/aras.h"

namespace misstep::bindings {

namespace {

template <class Eliminate>
Plan run_elimination(const TaskHandle &task, const State &state, const Plan &plan, std::optional<double> seconds,
                     Eliminate &&eliminate) {
    task.check(state);
    const int *start = state.values().data();
    const Limits limits = make_limits(seconds, {}, {}, {}, nb::none());
    replay(task.task, start, plan);
    return eliminate(start, limits);
}

// The arguments that both bindings of Aras have in common.
struct Request {
    std::optional<Cost> stop_below;
    std::uint64_t growth;
    std::optional<std::uint64_t> iterations, generated;
    bool eliminate;

    ArasOptions options() const {
        ArasOptions result;
        if (growth == 0) throw nb::value_error("growth: at least one state has to be generated");
        result.growth = growth;
        if (stop_below) result.stop_below = *stop_below;
        if (iterations) result.iterations = *iterations;
        if (generated) result.generated = *generated;
        result.eliminate = eliminate;
        return result;
    }
};

ArasResult run_aras(BoundStore &store, const TaskHandle &task, const State &state, const Plan &plan,
                    const Request &request, const Limits &limits) {
    task.check(state);
    const ArasOptions options = request.options();
    return aras(store, state.values().data(), plan, options, limits);
}

}  // namespace

// These are not MISSTEP_LIMIT_ARGUMENTS, because Aras has no limit on evaluations.
#define MISSTEP_ARAS_ARGUMENTS                                                                          \
    nb::arg("growth") = 1000, nb::arg("iterations") = nb::none(), nb::arg("generated") = nb::none(),    \
    nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(), nb::arg("expansions") = nb::none(), \
    nb::arg("progress") = nb::none()

void define_improve(nb::module_ &module) {
    module.def(
        "eliminate",
        [](const TaskHandle &task, const State &state, const Plan &plan, bool greedy, std::optional<double> seconds) {
            return run_elimination(task, state, plan, seconds, [&](const int *start, const Limits &limits) {
                return eliminate(task.generator, start, plan, greedy ? Elimination::greedy : Elimination::first,
                                 limits);
            });
        },
        nb::arg("task"), nb::arg("state"), nb::arg("plan"), nb::arg("greedy") = false, nb::kw_only(),
        nb::arg("seconds") = nb::none(), "A subsequence of the plan that is a plan.");
    module.def(
        "best_elimination",
        [](const TaskHandle &task, const State &state, const Plan &plan, std::optional<double> seconds) {
            return run_elimination(task, state, plan, seconds, [&](const int *start, const Limits &limits) {
                return best_elimination(task.generator, start, plan, limits);
            });
        },
        nb::arg("task"), nb::arg("state"), nb::arg("plan"), nb::kw_only(), nb::arg("seconds") = nb::none(),
        "The cheaper of plain and greedy elimination; for long plans plain alone.");

    nb::class_<ArasResult>(module, "ArasResult")
        .def_prop_ro("status", [](const ArasResult &self) { return name(self.status); })
        .def_prop_ro(
            "closed", [](const ArasResult &self) { return self.status == ArasStatus::closed; }, "No plan is cheaper.")
        .def_prop_ro("limit", [](const ArasResult &self) { return name(self.limit); })
        .def_ro("plan", &ArasResult::plan)
        .def_ro("cost", &ArasResult::cost)
        .def_ro("initial_cost", &ArasResult::initial_cost)
        .def_ro("iterations", &ArasResult::iterations)
        .def_prop_ro("expansions", [](const ArasResult &self) { return self.progress.expansions; })
        .def_prop_ro("generated", [](const ArasResult &self) { return self.progress.generated; })
        .def_prop_ro("bytes", [](const ArasResult &self) { return self.progress.bytes; });

    nb::borrow<nb::class_<BoundStoreHandle>>(module.attr("BoundStore"))
        .def(
            "improve",
            [](BoundStoreHandle &self, const State &state, const Plan &plan, std::optional<Cost> stop_below,
               bool eliminate, std::uint64_t growth, std::optional<std::uint64_t> iterations,
               std::optional<std::uint64_t> generated, std::optional<double> seconds, std::optional<std::size_t> bytes,
               std::optional<std::uint64_t> expansions, nb::object progress) {
                return run_aras(self, self.handle, state, plan, {stop_below, growth, iterations, generated, eliminate},
                                make_limits(seconds, bytes, expansions, {}, progress));
            },
            nb::arg("state"), nb::arg("plan"), nb::arg("stop_below") = nb::none(), nb::kw_only(),
            nb::arg("eliminate") = false, MISSTEP_ARAS_ARGUMENTS, "Looks for a cheaper plan around the given one.");
    module.def(
        "aras",
        [](TaskHandle &task, const State &state, const Plan &plan, std::optional<Cost> stop_below, std::uint64_t growth,
           std::optional<std::uint64_t> iterations, std::optional<std::uint64_t> generated,
           std::optional<double> seconds, std::optional<std::size_t> bytes, std::optional<std::uint64_t> expansions,
           nb::object progress) {
            BoundStore store(task.generator);
            return run_aras(store, task, state, plan, {stop_below, growth, iterations, generated, true},
                            make_limits(seconds, bytes, expansions, {}, progress));
        },
        nb::arg("task"), nb::arg("state"), nb::arg("plan"), nb::arg("stop_below") = nb::none(), nb::kw_only(),
        MISSTEP_ARAS_ARGUMENTS, "Elimination and plan neighbourhood graph search in turn.");
}

}  // namespace misstep::bindings
