#include "bindings.h"
#include "search/astar.h"
#include "search/ehc.h"
#include "search/gbfs.h"

namespace misstep::bindings {

namespace {

nb::object optional_cost(Cost cost) { return cost >= INFINITE_COST ? nb::none() : nb::object(nb::int_(cost)); }

Cost bound_of(std::optional<Cost> bound) { return bound ? std::min(*bound, INFINITE_COST) : INFINITE_COST; }

// A search copies neither the task nor the heuristic, so both must outlive it (keep_alive below).
template <class Search>
nb::class_<Search> define(nb::module_ &module, const char *name) {
    nb::class_<Search> type(module, name);
    type.def(
        "run",
        [](Search &self, std::optional<double> seconds, std::optional<std::size_t> bytes,
           std::optional<std::uint64_t> expansions, std::optional<std::uint64_t> evaluations, nb::object progress) {
            const Limits limits = make_limits(seconds, bytes, expansions, evaluations, progress);
            return self.run(limits);
        },
        MISSTEP_LIMIT_ARGUMENTS);
    return type;
}

}  // namespace

void check_same_task(const TaskHandle &task, Heuristic *heuristic) {
    const auto *owned = dynamic_cast<const Owned *>(heuristic);
    if (owned != nullptr && &owned->handle != &task) throw nb::value_error("the heuristic belongs to another task");
}

void define_search(nb::module_ &module) {
    nb::class_<SearchResult>(module, "SearchResult")
        .def_prop_ro("status", [](const SearchResult &self) { return name(self.status); })
        .def_prop_ro("limit", [](const SearchResult &self) { return name(self.limit); })
        .def_ro("plan", &SearchResult::plan)
        .def_prop_ro("cost", [](const SearchResult &self) { return optional_cost(self.cost); })
        .def_prop_ro(
            "lower_bound", [](const SearchResult &self) { return optional_cost(self.lower_bound); },
            "No plan is cheaper; None is the proof that there is no plan.")
        .def_prop_ro("expansions", [](const SearchResult &self) { return self.progress.expansions; })
        .def_prop_ro("evaluations", [](const SearchResult &self) { return self.progress.evaluations; })
        .def_prop_ro("generated", [](const SearchResult &self) { return self.progress.generated; })
        .def_prop_ro("bytes", [](const SearchResult &self) { return self.progress.bytes; })
        .def_ro("registered", &SearchResult::registered);

    define<AStar>(module, "AStar")
        .def(
            "__init__",
            [](AStar *self, const TaskHandle &task, Heuristic *heuristic, const State &start,
               std::optional<Cost> bound) {
                task.check(start);
                check_same_task(task, heuristic);
                new (self) AStar(task.generator, heuristic, start.values().data(), bound_of(bound));
            },
            nb::arg("task"), nb::arg("heuristic").none(), nb::arg("start"), nb::arg("bound") = nb::none(),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
    define<GreedyBestFirst>(module, "GreedyBestFirst")
        .def(
            "__init__",
            [](GreedyBestFirst *self, const TaskHandle &task, Heuristic &heuristic, const State &start,
               std::optional<Cost> bound) {
                task.check(start);
                check_same_task(task, &heuristic);
                new (self) GreedyBestFirst(task.generator, heuristic, start.values().data(), bound_of(bound));
            },
            nb::arg("task"), nb::arg("heuristic"), nb::arg("start"), nb::arg("bound") = nb::none(),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
    define<EnforcedHillClimbing>(module, "EnforcedHillClimbing")
        .def(
            "__init__",
            [](EnforcedHillClimbing *self, const TaskHandle &task, Heuristic &heuristic, const State &start,
               std::optional<Cost> bound, bool helpful, bool by_cost) {
                task.check(start);
                check_same_task(task, &heuristic);
                new (self) EnforcedHillClimbing(task.generator, heuristic, start.values().data(), {helpful, by_cost},
                                                bound_of(bound));
            },
            nb::arg("task"), nb::arg("heuristic"), nb::arg("start"), nb::arg("bound") = nb::none(),
            nb::arg("helpful") = true, nb::arg("by_cost") = false, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
}

}  // namespace misstep::bindings
