#include <cmath>

#include "graphs.h"
#include "policygraph/repair.h"

namespace misstep::bindings {

namespace {

// A heuristic that a user wrote in Python.
class PythonEstimate : public Heuristic {
   public:
    PythonEstimate(nb::object function, int variables) : function_(std::move(function)), variables_(variables) {}

    Cost evaluate(const int *values) override {
        const auto estimate = nb::cast<double>(function_(State(std::vector<int>(values, values + variables_))));
        if (std::isnan(estimate)) throw nb::value_error("a lower bound is not a number");
        if (estimate >= static_cast<double>(INFINITE_COST)) return INFINITE_COST;
        return static_cast<Cost>(std::ceil(std::max(0.0, estimate)));  // costs are whole numbers
    }
    std::size_t bytes() const override { return 0; }

   private:
    nb::object function_;
    int variables_;
};

struct RepairSearchHandle {
    RepairSearchHandle(PolicyGraphHandle &graph, const State &start, std::optional<Cost> bound,
                       std::uint64_t max_expansions, std::uint32_t run_steps, nb::object estimate)
        : graph(graph), estimate(std::move(estimate)) {
        graph.handle.check(start);
        Heuristic *heuristic = nullptr;
        if (!this->estimate.is_none() && !nb::try_cast(this->estimate, heuristic)) {
            python = std::make_unique<PythonEstimate>(this->estimate, graph.task().variable_count());
            heuristic = python.get();
        }
        check_same_task(graph.handle, heuristic);
        const Cost limit = bound ? std::min(*bound, INFINITE_COST - 1) : INFINITE_COST;
        search = std::make_unique<RepairSearch>(graph, start.values().data(),
                                                RepairSearch::Options{limit, max_expansions, run_steps, heuristic});
    }
    PolicyGraphHandle &graph;
    nb::object estimate;
    std::unique_ptr<PythonEstimate> python;
    std::unique_ptr<RepairSearch> search;
};

nb::tuple result_of(const RepairSearchHandle &self) {
    const RepairSearch::Result &result = self.search->result();
    nb::list deviations;
    std::vector<int> values(self.graph.task().variable_count());
    for (std::size_t i = 0; i < result.plan.size(); ++i) {
        const OperatorId decision = self.graph.decision(result.states[i]);
        if (decision == result.plan[i]) continue;
        self.graph.values(result.states[i], values.data());
        deviations.append(nb::make_tuple(i, State(values), decision, result.plan[i]));
    }
    const bool has_plan =
        result.status == RepairSearch::Status::minimal || result.status == RepairSearch::Status::found;
    return nb::make_tuple(name(result.status), result.plan, has_plan ? nb::object(nb::int_(result.cost)) : nb::none(),
                          deviations, result.lower_bound, result.expansions);
}

}  // namespace

void define_repair(nb::module_ &module) {
    nb::class_<RepairSearchHandle>(module, "RepairSearch",
                                   "The fewest decisions other than the policy's that lead to the goal.")
        .def(nb::init<PolicyGraphHandle &, const State &, std::optional<Cost>, std::uint64_t, std::uint32_t,
                      nb::object>(),
             nb::arg("graph"), nb::arg("start"), nb::arg("bound").none(), nb::arg("max_expansions"),
             nb::arg("run_steps"), nb::arg("estimate").none(), nb::keep_alive<1, 2>())
        .def(
            "advance",
            [](RepairSearchHandle &self) {
                const Limits limits = make_limits({}, {}, {}, {}, nb::none());  // no limits, but Ctrl-C interrupts
                return to_numpy(std::vector<StateId>(self.search->advance(limits)));
            },
            "States whose runs are needed; empty when the search is over.")
        .def_prop_ro(
            "steps", [](const RepairSearchHandle &self) { return self.search->steps(); },
            "How long these runs have to be.")
        .def("result", &result_of,
             "Status, operators, cost or None, deviations (step, state, decision, operator), lower bound, expansions.");
}

}  // namespace misstep::bindings
