#include "base/random.h"
#include "fuzzing/novelty.h"
#include "fuzzing/partial_runs.h"
#include "fuzzing/select.h"
#include "fuzzing/trace_biases.h"
#include "fuzzing/walks.h"
#include "graphs.h"

namespace misstep::bindings {

namespace {

struct WalksHandle : Owned {
    WalksHandle(PolicyGraphHandle &graph, std::unique_ptr<DeadEnds> filter, Walks::Rules rules)
        : Owned(graph.handle), graph(graph), dead_ends(std::move(filter)), walks(graph, *dead_ends, rules) {}
    PolicyGraphHandle &graph;
    std::unique_ptr<DeadEnds> dead_ends;
    Walks walks;
};

std::unique_ptr<DeadEnds> make_dead_ends(PolicyGraphHandle &graph, std::string_view name, std::uint64_t expansions,
                                         const StateSpace *space) {
    if (name == "none") return std::make_unique<NoDeadEnds>();
    if (name == "hmax") return std::make_unique<RelaxedDeadEnds>(graph.handle.relaxed());
    if (name == "search")
        return std::make_unique<SearchDeadEnds>(graph.handle.generator, graph.handle.relaxed(), expansions);
    if (name == "exact" && space != nullptr) return std::make_unique<ExactDeadEnds>(*space);
    throw nb::value_error("no such dead-end filter");
}

nb::tuple to_arrays(const std::vector<Walks::Successor> &successors) {
    std::vector<OperatorId> operators;
    std::vector<StateId> states;
    operators.reserve(successors.size());
    states.reserve(successors.size());
    for (const auto &[op, state] : successors) {
        operators.push_back(op);
        states.push_back(state);
    }
    return nb::make_tuple(to_numpy(std::move(operators)), to_numpy(std::move(states)));
}

struct BiasHandle : Owned {
    BiasHandle(PolicyGraphHandle &graph, TraceBias::Kind kind, std::unique_ptr<Estimate> estimate, bool prune)
        : Owned(graph.handle),
          graph(graph),
          estimate(std::move(estimate)),
          bias(graph, kind, this->estimate.get(), prune) {}
    PolicyGraphHandle &graph;
    std::unique_ptr<Estimate> estimate;
    TraceBias bias;
};

TraceBias::Kind bias_kind(std::string_view name) {
    if (name == "policy-cost") return TraceBias::Kind::cost;
    if (name == "loop") return TraceBias::Kind::loop;
    if (name == "detour") return TraceBias::Kind::detour;
    if (name == "surface") return TraceBias::Kind::surface;
    throw nb::value_error("no such bias");
}

std::unique_ptr<Estimate> make_estimate(PolicyGraphHandle &graph, const StateSpace *space,
                                        std::optional<std::uint64_t> evaluations, bool naive) {
    if (space != nullptr) return std::make_unique<ExactEstimate>(graph, *space);
    if (evaluations) return std::make_unique<SearchEstimate>(graph, make_limits({}, {}, {}, evaluations, nb::none()));
    if (naive) return std::make_unique<NaiveFFEstimate>(graph, graph.handle.relaxed());
    return std::make_unique<FFEstimate>(graph, graph.handle.relaxed());
}

void check_space(const PolicyGraphHandle &graph, const StateSpace *space) {
    if (space == nullptr) return;
    if (&space->generator() != &graph.handle.generator)
        throw nb::value_error("the state space belongs to another task");
    if (!space->complete()) throw nb::value_error("the state space is not complete");
}

void define_walks(nb::module_ &module) {
    nb::class_<WalksHandle>(module, "Walks", "Where random walks may go.")
        .def(
            "__init__",
            [](WalksHandle *self, PolicyGraphHandle &graph, std::string_view dead_ends, std::uint64_t expansions,
               const StateSpace *space, bool skip_goals, bool skip_stuck) {
                check_space(graph, space);
                new (self)
                    WalksHandle(graph, make_dead_ends(graph, dead_ends, expansions, space), {skip_goals, skip_stuck});
            },
            nb::arg("graph"), nb::arg("dead_ends"), nb::kw_only(), nb::arg("expansions"), nb::arg("space").none(),
            nb::arg("skip_goals"), nb::arg("skip_stuck"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 5>())
        .def(
            "is_dead",
            [](WalksHandle &self, const State &state) {
                self.handle.check(state);
                return self.dead_ends->is_dead(state.values().data());
            },
            nb::arg("state"))
        .def(
            "successors",
            [](WalksHandle &self, StateId state, CounterRandom *random) {
                self.graph.check_id(state);
                return to_arrays(random != nullptr ? self.walks.successors(state, *random)
                                                   : self.walks.successors(state));
            },
            nb::arg("state"), nb::arg("random").none() = nb::none(),
            "Operators and ids of the successors that survive; in random order if there is a source of it.")
        .def(
            "uniform_walk",
            [](WalksHandle &self, StateId from, std::uint32_t length, CounterRandom &random) {
                self.graph.check_id(from);
                std::vector<OperatorId> walk;
                const StateId end = self.walks.uniform_walk(from, length, random, walk);
                return std::pair(end, std::move(walk));
            },
            nb::arg("start"), nb::arg("length"), nb::arg("random"), "Where an unbiased walk ends, and its operators.");
}

void define_runs(nb::module_ &module) {
    nb::class_<PartialRuns>(module, "PartialRuns", "Runs from the candidates of an expansion, within its budgets.")
        .def(
            "__init__",
            [](PartialRuns *self, PolicyGraphHandle &graph, const Ids &ids, std::optional<std::uint32_t> state_budget,
               std::optional<std::uint32_t> expansion_budget) {
                new (self)
                    PartialRuns(graph, checked_ids(graph, ids), steps_of(state_budget), steps_of(expansion_budget));
            },
            nb::arg("graph"), nb::arg("ids"), nb::arg("state_budget").none(), nb::arg("expansion_budget").none(),
            nb::keep_alive<1, 2>())
        .def(
            "advance", [](PartialRuns &self) { return to_numpy(std::vector<StateId>(self.advance())); },
            "States that the policy has to be asked about; empty when all runs are known.")
        .def(
            "run_native",
            [](PartialRuns &self, PolicyHandle &policy) {
                if (&policy.handle.task != &self.graph().task())
                    throw nb::value_error("the policy belongs to another task");
                const Limits limits = make_limits(std::nullopt, std::nullopt, std::nullopt, std::nullopt, nb::none());
                self.run(*policy.native, limits);
            },
            nb::arg("policy"))
        .def(
            "ends",
            [](PartialRuns &self) {
                std::vector<std::uint8_t> outcomes;
                std::vector<std::int64_t> steps, costs;
                for (const RunEnd &end : self.ends()) {
                    outcomes.push_back(static_cast<std::uint8_t>(end.outcome));
                    steps.push_back(end.steps);
                    costs.push_back(end.cost);
                }
                return nb::make_tuple(to_numpy(std::move(outcomes)), to_numpy(std::move(steps)),
                                      to_numpy(std::move(costs)));
            },
            "Outcomes, steps and costs of the first candidates, as many as the budget allows.");
}

void define_biases(nb::module_ &module) {
    nb::class_<BiasHandle>(module, "TraceBias", "How bad runs look.")
        .def(
            "__init__",
            [](BiasHandle *self, PolicyGraphHandle &graph, std::string_view kind, const StateSpace *space,
               std::optional<std::uint64_t> evaluations, bool naive) {
                check_space(graph, space);
                new (self) BiasHandle(graph, bias_kind(kind), make_estimate(graph, space, evaluations, naive), !naive);
            },
            nb::arg("graph"), nb::arg("kind"), nb::arg("space").none() = nb::none(), nb::kw_only(),
            nb::arg("evaluations") = nb::none(), nb::arg("naive") = false, nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 4>())
        .def(
            "values",
            [](BiasHandle &self, const Ids &ids,
               const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> &steps) {
                const std::vector<StateId> starts = checked_ids(self.graph, ids);
                if (steps.shape(0) != starts.size())
                    throw nb::value_error("as many numbers of steps as states are needed");
                for (std::size_t i = 0; i < starts.size(); ++i) {
                    StateId at = starts[i];
                    for (std::int64_t k = 0; k < steps.data()[i]; ++k)
                        if ((at = self.graph.successor(at)) == NO_STATE)
                            throw nb::value_error("a run is not as long as that");
                }
                std::vector<double> values(starts.size());
                {
                    for (std::size_t i = 0; i < starts.size(); ++i)
                        values[i] = self.bias.value(starts[i], static_cast<std::uint32_t>(steps.data()[i]));
                }
                return to_numpy(std::move(values));
            },
            nb::arg("ids"), nb::arg("steps"), "Values of the runs of that many steps, a row each.")
        .def_prop_ro("pairs_evaluated", [](const BiasHandle &self) { return self.bias.pairs_evaluated(); })
        .def_prop_ro(
            "cut_values", [](const BiasHandle &self) { return self.bias.cut_values(); },
            "The number of values so far that rest on a distance whose search was cut.");
    module.def(
        "weighted_select",
        [](const nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> &weights, CounterRandom &random,
           double uniform_share) { return weighted_select({weights.data(), weights.shape(0)}, random, uniform_share); },
        nb::arg("weights"), nb::arg("random"), nb::arg("uniform_share") = 0.0, "The row selected, -1 for none.");
}

struct NoveltyHandle : Owned, NoveltyStore {
    NoveltyHandle(TaskHandle &task, int arity, std::uint64_t max_bits, std::uint64_t max_tuples)
        : Owned(task), NoveltyStore(task.task, arity, max_bits, max_tuples) {}
};

void define_novelty(nb::module_ &module) {
    const auto values = [](const NoveltyHandle &self, const State &state) {
        self.handle.check(state);
        return state.values().data();
    };
    nb::class_<NoveltyHandle>(module, "NoveltyStore", "Facts, pairs or triples of facts that occur in a set of states.")
        .def(nb::init<TaskHandle &, int, std::uint64_t, std::uint64_t>(), nb::arg("task"), nb::arg("arity"),
             nb::kw_only(), nb::arg("max_bits") = NoveltyStore::MAX_BITS,
             nb::arg("max_tuples") = NoveltyStore::MAX_TUPLES, nb::keep_alive<1, 2>())
        .def(
            "is_novel",
            [values](const NoveltyHandle &self, const State &state) { return self.is_novel(values(self, state)); },
            nb::arg("state"))
        .def(
            "insert", [values](NoveltyHandle &self, const State &state) { self.insert(values(self, state)); },
            nb::arg("state"))
        .def_prop_ro("tuples", &NoveltyHandle::tuples)
        .def_prop_ro("full", &NoveltyHandle::full)
        .attr("MAX_ARITY") = NoveltyStore::MAX_ARITY;
}

}  // namespace

void define_fuzzing(nb::module_ &module) {
    define_walks(module);
    define_runs(module);
    define_biases(module);
    define_novelty(module);
}

}  // namespace misstep::bindings
