#include <nanobind/stl/function.h>
#include <nanobind/stl/shared_ptr.h>

#include "bindings.h"
#include "dominance/factoring.h"
#include "dominance/index.h"
#include "dominance/morphs.h"
#include "dominance/naive.h"

namespace misstep::bindings {

namespace {

using namespace misstep::dominance;

struct FactoringHandle : Owned {
    FactoringHandle(TaskHandle &task, const FactoringOptions &options, const Limits &limits)
        : Owned(task), factoring(make_factoring(task.task, options, limits, limit)) {}
    Limit limit = Limit::none;
    Factoring factoring;
};

struct FunctionHandle : Owned {
    FunctionHandle(TaskHandle &task, Function function) : Owned(task), function(std::move(function)) {}
    Function function;
    const Morphs &morphs() {
        if (!morphs_) morphs_ = std::make_unique<Morphs>(function);
        return *morphs_;
    }
    const int *values(const State &state) const {
        handle.check(state);
        return state.values().data();
    }

   private:
    std::unique_ptr<Morphs> morphs_;
};

struct IndexHandle {
    explicit IndexHandle(FunctionHandle &function) : function(function), index(function.function) {}
    void check(std::uint32_t row) const {
        if (row >= index.size()) throw nb::index_error("the index has no such row");
    }
    static Cost checked(Cost bound) {
        if (bound < 0) throw nb::value_error("a bound on the cost of plans is not negative");
        return std::min(bound, INFINITE_COST);
    }
    FunctionHandle &function;
    ComparisonIndex index;
};

using Bounds = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object value_to_python(Cost value) { return value == MINUS_INFINITY ? nb::none() : nb::object(nb::int_(value)); }

std::vector<const int *> row_pointers(const StateBatch &states) {
    std::vector<const int *> result;
    for (std::size_t i = 0; i < states.shape(0); ++i) result.push_back(states.data() + i * states.shape(1));
    return result;
}

SimulationOptions options_of(bool strict, bool tau, bool recursive_tau, bool noop_tau, Cost truncate,
                             std::uint32_t max_drops, std::uint64_t max_steps, std::uint64_t max_cells, int threads) {
    if (truncate < 0 || threads < 1) throw nb::value_error("truncate and threads must not be negative");
    return {strict, tau, recursive_tau, noop_tau, truncate, max_drops, max_steps, max_cells, threads};
}

#define MISSTEP_SIMULATION_ARGUMENTS                                                                       \
    nb::arg("strict"), nb::arg("tau"), nb::arg("recursive_tau"), nb::arg("noop_tau"), nb::arg("truncate"), \
        nb::arg("max_drops"), nb::arg("max_steps"), nb::arg("max_cells"), nb::arg("threads")

nb::dict describe(const FactorTable &factor) {
    nb::dict result;
    result["variables"] = nb::cast(factor.variables);
    result["states"] = factor.table.size();
    result["finite"] = factor.table.finite();
    result["pairs"] = static_cast<std::uint64_t>(factor.table.size()) * factor.table.size();
    result["bytes_per_pair"] = factor.table.bytes_per_pair();
    result["fallback"] = name(factor.fallback);
    return result;
}

nb::object pull_to_python(const ComparisonIndex::Pull &pull) {
    if (pull.row == NO_STATE) return nb::make_tuple(nb::none(), nb::none());
    return nb::make_tuple(pull.bound, pull.row);
}

nb::object push_to_python(ComparisonIndex::Push &&push) {
    return nb::make_tuple(to_numpy(std::move(push.rows)), to_numpy(std::move(push.bounds)));
}

nb::list morphs_to_python(std::vector<Morph> &&morphs) {
    nb::list result;
    for (Morph &morph : morphs) result.append(nb::make_tuple(State(std::move(morph.values)), morph.value));
    return result;
}

void define_factoring(nb::module_ &module) {
    nb::class_<FactoringHandle>(module, "DominanceFactoring", "A task as a product of small transition systems.")
        .def(
            "__init__",
            [](FactoringHandle *self, TaskHandle &task, bool merge, int max_states, std::uint64_t max_transitions,
               bool reduce_labels, bool shrink, bool prune_unreachable, std::optional<std::uint64_t> max_steps,
               std::optional<double> seconds, nb::object progress) {
                const Limits limits = make_limits(seconds, {}, max_steps, {}, progress);
                nb::gil_scoped_release unlock;
                new (self) FactoringHandle(
                    task, {merge, max_states, max_transitions, reduce_labels, shrink, prune_unreachable}, limits);
            },
            nb::arg("task"), nb::kw_only(), nb::arg("merge"), nb::arg("max_states"), nb::arg("max_transitions"),
            nb::arg("reduce_labels"), nb::arg("shrink"), nb::arg("prune_unreachable"),
            nb::arg("max_steps") = nb::none(), nb::arg("seconds") = nb::none(), nb::arg("progress") = nb::none(),
            nb::keep_alive<1, 2>())
        .def_prop_ro("solvable", [](const FactoringHandle &self) { return self.factoring.solvable; })
        .def_prop_ro("merges", [](const FactoringHandle &self) { return self.factoring.merges; })
        .def_prop_ro("limit", [](const FactoringHandle &self) { return name(self.limit); })
        .def("__len__", [](const FactoringHandle &self) { return self.factoring.factors.size(); })
        .def("variables",
             [](const FactoringHandle &self, std::size_t i) { return self.factoring.factors.at(i).variables; })
        .def("states", [](const FactoringHandle &self, std::size_t i) { return self.factoring.factors.at(i).size; })
        .def("distances", [](const FactoringHandle &self, std::size_t i) { return self.factoring.factors.at(i).h; })
        .def("goals",
             [](const FactoringHandle &self, std::size_t i) {
                 const auto &goal = self.factoring.factors.at(i).goal;
                 return std::vector<bool>(goal.begin(), goal.end());
             })
        .def(
            "abstract",
            [](const FactoringHandle &self, std::size_t i, const State &state) {
                self.handle.check(state);
                return self.factoring.factors.at(i).lookup(state.values().data());
            },
            "The state of a factor that a state belongs to, -1 if it was pruned.")
        .def(
            "transitions",
            [](const FactoringHandle &self, std::size_t i) {
                nb::dict result;
                for (const LabelledTransitions &entry : self.factoring.factors.at(i).labels) {
                    nb::list list;
                    for (const Transition &t : entry.transitions) list.append(nb::make_tuple(t.from, t.to));
                    result[nb::int_(entry.label)] = list;
                }
                return result;
            },
            "By label; labels that are not there are irrelevant.")
        .def(
            "label_weights",
            [](const FactoringHandle &self, const Simulation &tables, std::size_t i) {
                const std::vector<Factor> &factors = self.factoring.factors;
                const auto fits = [](const Factor &factor, const FactorTable &own) {
                    return factor.size == own.table.size();
                };
                if (!std::equal(factors.begin(), factors.end(), tables.factors.begin(), tables.factors.end(), fits))
                    throw nb::value_error("these tables are of another factoring");
                if (i >= factors.size()) throw nb::index_error("there is no such factor");
                nb::dict result;
                for (const LabelWeight &weight :
                     label_weights(self.factoring, tables, static_cast<int>(i), SimulationOptions().max_cells))
                    result[nb::make_tuple(weight.challenge, weight.answer == NO_LABEL
                                                                ? nb::none()
                                                                : nb::object(nb::int_(weight.answer)))] =
                        value_to_python(weight.value);
                return result;
            },
            nb::arg("tables"), nb::arg("factor"),
            "By challenge and answer: what it is worth to the other factors if a factor answers one label by another, "
            "or by None, nothing.");
}

void define_simulation(nb::module_ &module) {
    nb::class_<Simulation>(module, "DominanceTables", "D of every factor of one factoring.")
        .def_prop_ro("transitive", [](const Simulation &self) { return self.transitive; })
        .def_prop_ro("rounds", [](const Simulation &self) { return self.rounds; })
        .def_prop_ro("drops", [](const Simulation &self) { return self.drops; })
        .def_prop_ro("steps", [](const Simulation &self) { return self.steps; })
        .def("__len__", [](const Simulation &self) { return self.factors.size(); })
        .def("factors",
             [](const Simulation &self) {
                 nb::list result;
                 for (const FactorTable &factor : self.factors) result.append(describe(factor));
                 return result;
             })
        .def(
            "table",
            [](const Simulation &self, std::size_t i) {
                const Table &table = self.factors.at(i).table;
                const std::size_t n = table.size();
                std::vector<Cost> values;
                for (std::size_t s = 0; s < n; ++s)
                    for (std::size_t t = 0; t < n; ++t)
                        values.push_back(table.at(static_cast<int>(s), static_cast<int>(t)));
                return to_numpy(std::move(values), std::vector<std::size_t>{n, n});
            },
            "Row: dominated, column: dominating; the lowest possible number for -infinity.");
    module.def(
        "dominance_simulation",
        [](const FactoringHandle &factoring, bool strict, bool tau, bool recursive_tau, bool noop_tau, Cost truncate,
           std::uint32_t max_drops, std::uint64_t max_steps, std::uint64_t max_cells, int threads,
           std::optional<double> seconds, nb::object progress) {
            if (!factoring.factoring.solvable)
                throw nb::value_error("the task is unsolvable: there is nothing to compare");
            const Limits limits = make_limits(seconds, {}, {}, {}, progress);
            const SimulationOptions options =
                options_of(strict, tau, recursive_tau, noop_tau, truncate, max_drops, max_steps, max_cells, threads);
            nb::gil_scoped_release unlock;
            return std::make_shared<Simulation>(simulate(factoring.factoring, options, limits));
        },
        nb::arg("factoring"), nb::kw_only(), MISSTEP_SIMULATION_ARGUMENTS, nb::arg("seconds") = nb::none(),
        nb::arg("progress") = nb::none());
    module.def(
        "naive_dominance",
        [](const FactoringHandle &factoring, bool strict, bool tau, bool recursive_tau, bool noop_tau, Cost truncate,
           std::uint32_t max_drops, std::uint64_t max_steps, std::uint64_t max_cells, int threads) {
            const naive::Reference reference(
                factoring.factoring,
                options_of(strict, tau, recursive_tau, noop_tau, truncate, max_drops, max_steps, max_cells, threads));
            nb::list tables, taus;
            for (std::size_t i = 0; i < reference.d.size(); ++i) {
                const std::size_t n = factoring.factoring.factors[i].size;
                const std::vector<std::size_t> shape{n, n};
                tables.append(to_numpy(std::vector(reference.d[i]), shape));
                taus.append(to_numpy(std::vector(reference.tau[i]), shape));
            }
            std::vector<Cost> weights;
            const std::size_t labels = reference.labels();
            for (std::size_t i = 0; i < reference.d.size(); ++i)
                for (int from = 0; from < reference.labels(); ++from)
                    for (int to = -1; to < reference.labels(); ++to)
                        weights.push_back(reference.weight(static_cast<int>(i), from, to));
            return nb::make_tuple(
                tables, taus,
                to_numpy(std::move(weights), std::vector<std::size_t>{reference.d.size(), labels, labels + 1}),
                reference.rounds);
        },
        nb::arg("factoring"), nb::kw_only(), MISSTEP_SIMULATION_ARGUMENTS,
        "The tables by the definition, the costs of internal moves, the weights of labels (by factor, challenge, "
        "answer; nothing comes first), and the rounds; for tests.");
    module.attr("MINUS_INFINITY") = MINUS_INFINITY;
}

void define_function(nb::module_ &module) {
    nb::class_<FunctionHandle>(module, "DominanceCore",
                               "D of whole states: the largest sum over the factors of a factoring.")
        .def(
            "__init__",
            [](FunctionHandle *self, TaskHandle &task, const std::vector<std::shared_ptr<Simulation>> &tables) {
                std::vector<Simulation> factorings;
                for (const auto &simulation : tables) factorings.push_back(*simulation);
                const auto sizes = task.task.domain_sizes();
                new (self) FunctionHandle(task, Function({sizes.begin(), sizes.end()}, std::move(factorings)));
            },
            nb::arg("task"), nb::arg("tables"), nb::keep_alive<1, 2>())
        .def_static(
            "read",
            [](TaskHandle &task, nb::bytes data) {
                const auto sizes = task.task.domain_sizes();
                auto function = Function::read({data.c_str(), data.size()}, {sizes.begin(), sizes.end()});
                if (!function) throw nb::value_error("these are no tables of this task");
                return new FunctionHandle(task, std::move(*function));
            },
            nb::arg("task"), nb::arg("data"), nb::keep_alive<0, 1>())
        .def("write",
             [](const FunctionHandle &self) {
                 const std::string data = self.function.write();
                 return nb::bytes(data.data(), data.size());
             })
        .def("__len__", [](const FunctionHandle &self) { return self.function.factorings().size(); })
        .def_prop_ro("bytes", [](const FunctionHandle &self) { return self.function.bytes(); })
        .def("factors",
             [](const FunctionHandle &self, std::size_t factoring) {
                 nb::list result;
                 for (const FactorTable &factor : self.function.factorings().at(factoring).factors)
                     result.append(describe(factor));
                 return result;
             })
        .def("rounds", [](const FunctionHandle &self,
                          std::size_t factoring) { return self.function.factorings().at(factoring).rounds; })
        .def("transitive", [](const FunctionHandle &self,
                              std::size_t factoring) { return self.function.factorings().at(factoring).transitive; })
        .def(
            "value",
            [](const FunctionHandle &self, const State &dominated, const State &dominating) {
                return value_to_python(self.function.value(self.values(dominated), self.values(dominating)));
            },
            nb::arg("dominated"), nb::arg("dominating"))
        .def(
            "by_factor",
            [](const FunctionHandle &self, const State &dominated, const State &dominating) {
                nb::list result;
                for (const Function::Part &part :
                     self.function.by_factor(self.values(dominated), self.values(dominating)))
                    result.append(nb::make_tuple(nb::tuple(nb::cast(*part.variables)),
                                                 nb::make_tuple(part.dominated, part.dominating), part.value));
                return result;
            },
            nb::arg("dominated"), nb::arg("dominating"))
        .def(
            "matrix",
            [](const FunctionHandle &self, const StateBatch &dominated, const StateBatch &dominating) {
                check_batch(self.handle, dominated);
                check_batch(self.handle, dominating);
                std::vector<Cost> result;
                {
                    nb::gil_scoped_release unlock;
                    result = self.function.matrix(row_pointers(dominated), row_pointers(dominating));
                }
                const std::vector<std::size_t> shape{dominated.shape(0), dominating.shape(0)};
                return to_numpy(std::move(result), shape);
            },
            nb::arg("dominated"), nb::arg("dominating"), "All pairs; MINUS_INFINITY where nothing is known.")
        .def(
            "single_morphs",
            [](FunctionHandle &self, const State &dominating) {
                return morphs_to_python(self.morphs().single(self.values(dominating)));
            },
            nb::arg("dominating"))
        .def(
            "best_morphs",
            [](FunctionHandle &self, const State &dominating, std::size_t count) {
                return morphs_to_python(self.morphs().best(self.values(dominating), count));
            },
            nb::arg("dominating"), nb::arg("count"));
}

void define_index(nb::module_ &module) {
    nb::class_<IndexHandle>(module, "ComparisonIndex",
                            "States with upper bounds, and what dominance says between them.")
        .def(nb::init<FunctionHandle &>(), nb::arg("function"), nb::keep_alive<1, 2>())
        .def(
            "copy", [](const IndexHandle &self) { return new IndexHandle(self); }, nb::rv_policy::take_ownership,
            nb::keep_alive<0, 1>(), "The same rows, bounds and sources.")
        .def("__len__", [](const IndexHandle &self) { return self.index.size(); })
        .def_prop_ro("sources", [](const IndexHandle &self) { return self.index.sources(); })
        .def_prop_ro("bytes", [](const IndexHandle &self) { return self.index.bytes(); })
        .def(
            "add", [](IndexHandle &self, const State &state) { return self.index.add(self.function.values(state)); },
            nb::arg("state"))
        .def(
            "add_batch",
            [](IndexHandle &self, const StateBatch &states) {
                check_batch(self.function.handle, states);
                std::vector<std::uint32_t> rows;
                for (const int *values : row_pointers(states)) rows.push_back(self.index.add(values));
                return to_numpy(std::move(rows));
            },
            nb::arg("states"))
        .def(
            "state",
            [](const IndexHandle &self, std::uint32_t row) {
                self.check(row);
                std::vector<int> values(self.function.handle.task.variable_count());
                self.index.state(row, values.data());
                return State(std::move(values));
            },
            nb::arg("row"))
        .def(
            "bound",
            [](const IndexHandle &self, std::uint32_t row) {
                self.check(row);
                const Cost bound = self.index.bound(row);
                return bound >= INFINITE_COST ? nb::none() : nb::object(nb::int_(bound));
            },
            nb::arg("row"))
        .def(
            "set_bound",
            [](IndexHandle &self, std::uint32_t row, Cost bound) {
                self.check(row);
                self.index.set_bound(row, IndexHandle::checked(bound));
            },
            nb::arg("row"), nb::arg("bound"))
        .def(
            "set_bounds",
            [](IndexHandle &self, const Bounds &bounds) {
                if (bounds.shape(0) != self.index.size()) throw nb::value_error("a bound for each row is needed");
                std::vector<Cost> checked;  // all bounds are checked before the first one is set
                for (std::size_t row = 0; row < bounds.shape(0); ++row)
                    checked.push_back(bounds(row) == -1 ? -1 : IndexHandle::checked(bounds(row)));
                self.index.set_bounds(checked);
            },
            nb::arg("bounds").noconvert(), "One for each row; -1 where there is none.")
        .def(
            "pull",
            [](IndexHandle &self, const State &dominating) {
                return pull_to_python(self.index.pull(self.function.values(dominating)));
            },
            nb::arg("dominating"))
        .def(
            "pull_batch",
            [](IndexHandle &self, const StateBatch &states) {
                check_batch(self.function.handle, states);
                std::vector<std::int64_t> bounds, rows;
                for (const int *values : row_pointers(states)) {
                    const ComparisonIndex::Pull pull = self.index.pull(values);
                    bounds.push_back(pull.row == NO_STATE ? -1 : pull.bound);
                    rows.push_back(pull.row == NO_STATE ? -1 : static_cast<std::int64_t>(pull.row));
                }
                return nb::make_tuple(to_numpy(std::move(bounds)), to_numpy(std::move(rows)));
            },
            nb::arg("dominating"), "Bounds and rows; -1 where there is none.")
        .def(
            "push",
            [](IndexHandle &self, const State &dominated, Cost bound) {
                return push_to_python(self.index.push(self.function.values(dominated), IndexHandle::checked(bound)));
            },
            nb::arg("dominated"), nb::arg("bound"))
        .def(
            "exchange",
            [](IndexHandle &self, const State &state, std::optional<Cost> bound) {
                auto result = self.index.exchange(self.function.values(state),
                                                  bound ? IndexHandle::checked(*bound) : INFINITE_COST);
                return nb::make_tuple(pull_to_python(result.pull), push_to_python(std::move(result.push)));
            },
            nb::arg("state"), nb::arg("bound").none());
}

}  // namespace

void define_dominance(nb::module_ &module) {
    define_factoring(module);
    define_simulation(module);
    define_function(module);
    define_index(module);
}

}  // namespace misstep::bindings
