#include "bindings.h"
#include "heuristics/lmcut.h"
#include "heuristics/naive_ff.h"
#include "heuristics/pair_heuristic.h"
#include "heuristics/relaxation_heuristics.h"

namespace misstep::bindings {

namespace {

std::vector<Fact> facts_from_python(const TaskHandle &handle, const std::vector<std::pair<int, int>> &pairs) {
    std::vector<Fact> facts;
    for (const auto &[variable, value] : pairs) {
        const auto domains = handle.task.domain_sizes();
        if (variable < 0 || variable >= handle.task.variable_count() || value < 0 || value >= domains[variable])
            throw nb::value_error("the goal names a fact that the task does not have");
        for (const Fact &fact : facts)
            if (fact.variable == variable) throw nb::value_error("the goal names a variable twice");
        facts.push_back({variable, value});
    }
    return facts;
}

// A heuristic with its task, which must outlive it. Arguments are checked against the task.
template <class H>
struct Bound : H, Owned {
    template <class Argument>
    Bound(TaskHandle &owner, Argument &&argument) : H(std::forward<Argument>(argument)), Owned(owner) {}
};

template <class H, class Make>
nb::class_<Bound<H>, Heuristic> define(nb::module_ &module, const char *name, const char *doc, Make make) {
    nb::class_<Bound<H>, Heuristic> type(module, name, doc);
    type.def(
            "__init__", [make](Bound<H> *self, TaskHandle &task) { new (self) Bound<H>(task, make(task)); },
            nb::arg("task"), nb::keep_alive<1, 2>())
        .def(
            "__call__",
            [](Bound<H> &self, const State &state) {
                self.handle.check(state);
                return cost_to_python(self.evaluate(state.values().data()));
            },
            nb::arg("state"), "The estimate: an integer, or infinity for a proven dead end.")
        .def(
            "evaluate_batch",
            [](Bound<H> &self, const StateBatch &states) {
                check_batch(self.handle, states);
                std::vector<Cost> values(states.shape(0));
                {
                    for (std::size_t i = 0; i < values.size(); ++i)
                        values[i] = self.evaluate(states.data() + i * states.shape(1));
                }
                return costs_to_numpy(values);
            },
            nb::arg("states"), "Estimates of many states, a row each.")
        .def(
            "set_goal",
            [](Bound<H> &self, const std::vector<std::pair<int, int>> &goal) {
                self.set_goal(facts_from_python(self.handle, goal));
            },
            nb::arg("goal"), "Re-targets the heuristic to a partial state: pairs (variable, value).")
        .def(
            "set_goal_state",
            [](Bound<H> &self, const State &goal) {
                self.handle.check(goal);
                std::vector<Fact> facts;
                for (std::size_t v = 0; v < goal.values().size(); ++v)
                    facts.push_back({static_cast<int>(v), goal.values()[v]});
                self.set_goal(facts);
            },
            nb::arg("goal"), "Re-targets the heuristic to a full state.")
        .def(
            "helpful",
            [](const Bound<H> &self) { return std::vector<OperatorId>(self.helpful().begin(), self.helpful().end()); },
            "Helpful operators of the state evaluated last.");
    return type;
}

void define_pairs(nb::module_ &module) {
    using Pair = Bound<PairFF>;
    nb::class_<Pair>(module, "PairFF", "hFF from state to state, with one exploration a source.")
        .def(
            "__init__", [](Pair *self, TaskHandle &task) { new (self) Pair(task, task.relaxed()); }, nb::arg("task"),
            nb::keep_alive<1, 2>())
        .def(
            "__call__",
            [](Pair &self, const State &from, const State &to) {
                self.handle.check(from);
                self.handle.check(to);
                self.explore(from.values().data());
                return cost_to_python(self.distance(to.values().data()));
            },
            nb::arg("source"), nb::arg("target"))
        .def(
            "all_pairs",
            [](Pair &self, const StateBatch &states, bool forward, bool backward) {
                check_batch(self.handle, states);
                const std::size_t n = states.shape(0);
                if (!forward && !backward) throw nb::value_error("neither forward nor backward pairs are asked for");
                const auto direction = !backward  ? PairFF::Direction::FORWARD
                                       : !forward ? PairFF::Direction::BACKWARD
                                                  : PairFF::Direction::BOTH;
                std::vector<Cost> costs;
                {
                    self.all_pairs({states.data(), n * states.shape(1)}, static_cast<int>(n), direction, costs);
                }
                std::vector<double> result;
                result.reserve(costs.size());
                for (Cost cost : costs)
                    result.push_back(cost == PairFF::NOT_ASKED ? std::numeric_limits<double>::quiet_NaN()
                                     : cost >= INFINITE_COST   ? std::numeric_limits<double>::infinity()
                                                               : static_cast<double>(cost));
                const std::vector<std::size_t> shape{n, n};
                return to_numpy(std::move(result), shape);
            },
            nb::arg("states"), nb::arg("forward") = true, nb::arg("backward") = false,
            "Matrix of hFF(row, column) over the states of a trace; NaN where it was not asked for.");
}

void define_naive(nb::module_ &module) {
    module.def(
        "naive_relaxed_costs",
        [](const TaskHandle &task, const State &state, bool additive) {
            task.check(state);
            return costs_to_numpy(naive::relaxed_costs(task.task, state.values().data(), additive));
        },
        nb::arg("task"), nb::arg("state"), nb::arg("additive"),
        "hmax or hadd of every fact by plain iteration; for tests.");
    module.def(
        "naive_ff",
        [](TaskHandle &task, const State &state, const std::vector<std::pair<int, int>> &goal) {
            task.check(state);
            std::vector<std::int32_t> facts;
            for (const Fact &fact : facts_from_python(task, goal)) facts.push_back(task.task.fact_id(fact));
            const auto relaxed = task.relaxed();
            const auto result = naive::RelaxedPlanFinder(*relaxed, state.values().data()).plan(facts);
            return nb::make_tuple(cost_to_python(result.cost),
                                  std::vector<OperatorId>(result.helpful.begin(), result.helpful.end()));
        },
        nb::arg("task"), nb::arg("state"), nb::arg("goal"),
        "hFF and its helpful operators by plain iteration; for tests.");
}

}  // namespace

void define_heuristics(nb::module_ &module) {
    nb::class_<Heuristic>(module, "Heuristic", "An estimate of the cost to the goal. One object per thread.");
    const auto relaxed = [](TaskHandle &task) { return task.relaxed(); };
    define<HMax>(module, "HMax", "The most expensive goal fact in the delete relaxation. Admissible.", relaxed);
    define<HAdd>(module, "HAdd", "The sum over the goal facts in the delete relaxation.", relaxed);
    define<HFF>(module, "HFF", "The cost of a relaxed plan.", relaxed);
    define<LMCut>(module, "LMCut", "The landmark-cut heuristic. Admissible.",
                  [](TaskHandle &task) -> const Task & { return task.task; })
        .def(
            "landmarks",
            [](Bound<LMCut> &self, const State &state) {
                self.handle.check(state);
                nb::list result;
                self.evaluate_with_cuts(state.values().data(), [&](std::span<const OperatorId> operators,
                                                                   Cost charged) {
                    result.append(nb::make_tuple(std::vector<OperatorId>(operators.begin(), operators.end()), charged));
                });
                return result;
            },
            nb::arg("state"),
            "The cuts behind the estimate: pairs (operators, cost). Every plan uses an operator of each.");
    define_pairs(module);
    define_naive(module);
}

}  // namespace misstep::bindings
