#include <nanobind/stl/shared_ptr.h>

#include "jani.h"
#include "janisafety/game_space.h"
#include "janisafety/jani_transitions.h"
#include "janisafety/risk_sample.h"
#include "safety/likely.h"

namespace misstep::bindings {

namespace {

using safety::Bounds;
using safety::Game;
using safety::GameSpace;
using safety::JaniTransitions;

template <class T>
std::vector<T> copied(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> &array) {
    return std::vector<T>(array.data(), array.data() + array.size());
}
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object bounds_to_python(Bounds &&bounds) {
    return nb::make_tuple(to_numpy(std::move(bounds.low)), to_numpy(std::move(bounds.high)), bounds.sweeps,
                          name(bounds.limit));
}

// A game for Python. It keeps the space that it comes from alive.
struct RiskGame {
    Game own;
    std::shared_ptr<GameSpace> space;
    const Game &game() const { return space ? space->game() : own; }
};

void check_states(const Game &game, const std::vector<StateId> &states) {
    for (StateId s : states)
        if (s >= game.size()) throw nb::index_error("no such state");
}

void check_same(safety::System &system, JaniTransitions &transitions) {
    if (&system.transitions() != &transitions) throw nb::value_error("the system is not over these transitions");
    if (!system.has_policy()) throw nb::value_error("the system has no policy");
}

void define_game(nb::module_ &module) {
    nb::class_<RiskGame>(module, "RiskGame", "A model with its probabilities, in flat arrays.")
        .def(
            "__init__",
            [](RiskGame *self, const Array<std::uint8_t> &kinds, const Array<std::uint64_t> &labels_of,
               const Array<std::int32_t> &labels, const Array<std::uint64_t> &edges_of,
               const Array<std::uint64_t> &outcomes_of, const Array<std::uint32_t> &outcomes,
               const Array<double> &weights) {
                Game game{copied(kinds),       copied(labels_of), copied(labels),  copied(edges_of),
                          copied(outcomes_of), copied(outcomes),  copied(weights), 1};
                game.check();
                new (self) RiskGame{std::move(game), nullptr};
            },
            nb::arg("kinds"), nb::arg("labels_of"), nb::arg("labels"), nb::arg("edges_of"), nb::arg("outcomes_of"),
            nb::arg("outcomes"), nb::arg("weights"))
        .def("__len__", [](const RiskGame &self) { return self.game().size(); })
        .def_prop_ro("edge_count", [](const RiskGame &self) { return self.game().edge_count(); })
        .def_prop_ro("label_count", [](const RiskGame &self) { return self.game().labels.size(); })
        .def_prop_ro("outcome_count", [](const RiskGame &self) { return self.game().outcomes.size(); })
        .def_prop_ro("bytes", [](const RiskGame &self) { return self.game().bytes(); })
        .def_prop_ro(
            "kinds", [](const RiskGame &self) { return to_numpy(std::vector(self.game().kinds)); },
            "0: none of these, 1: unsafe, 2: goal, 3: dead end, 4: not explored, 5: the policy stops.")
        .def_prop_ro("labels_of", [](const RiskGame &self) { return to_numpy(std::vector(self.game().labels_of)); })
        .def_prop_ro("labels", [](const RiskGame &self) { return to_numpy(std::vector(self.game().labels)); })
        .def(
            "under",
            [](const RiskGame &self, const Array<std::int64_t> &choices) {
                if (choices.size() != self.game().size()) throw nb::value_error("one choice a state");
                return std::make_shared<RiskGame>(
                    RiskGame{self.game().under(std::span(choices.data(), choices.size())), nullptr});
            },
            nb::arg("choices"), "Positions of the labels to keep; -1: the run ends there.")
        .def(
            "bounds",
            [](const RiskGame &self, double precision, std::optional<double> seconds, std::optional<std::size_t> bytes,
               nb::object progress) {
                const Limits limits = make_limits(seconds, bytes, std::nullopt, std::nullopt, progress);
                std::vector<std::int64_t> strategy;
                Bounds bounds;
                {
                    nb::gil_scoped_release unlock;
                    bounds = safety::risk_bounds(self.game(), precision, limits, &strategy);
                }
                return nb::make_tuple(bounds_to_python(std::move(bounds)), to_numpy(std::move(strategy)));
            },
            nb::arg("precision"), nb::kw_only(), nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(),
            nb::arg("progress") = nb::none(),
            "Lower and upper bounds on the least risk of each state, sweeps, the limit; and the labels chosen.")
        .def(
            "bounds_within",
            [](const RiskGame &self, std::uint64_t steps, std::optional<double> seconds, nb::object progress) {
                const Limits limits = make_limits(seconds, std::nullopt, std::nullopt, std::nullopt, progress);
                Bounds bounds;
                {
                    nb::gil_scoped_release unlock;
                    bounds = safety::risk_within(self.game(), steps, limits);
                }
                return bounds_to_python(std::move(bounds));
            },
            nb::arg("steps"), nb::kw_only(), nb::arg("seconds") = nb::none(), nb::arg("progress") = nb::none())
        .def(
            "decision_values",
            [](const RiskGame &self, const Array<double> &low, const Array<double> &high) {
                if (low.size() != self.game().size() || high.size() != low.size())
                    throw nb::value_error("one bound a state");
                Bounds least;
                least.low = copied(low);
                least.high = copied(high);
                Bounds values = safety::decision_values(self.game(), least);
                return nb::make_tuple(to_numpy(std::move(values.low)), to_numpy(std::move(values.high)));
            },
            nb::arg("low"), nb::arg("high"),
            "Of a chain: bounds on the risk after its label, if all later ones were chosen as well as possible.")
        .def(
            "visits",
            [](const RiskGame &self, const std::vector<StateId> &starts, const Array<double> &values,
               nb::object progress) {
                check_states(self.game(), starts);
                if (values.size() != self.game().size()) throw nb::value_error("one value a state");
                const Limits limits = make_limits(std::nullopt, std::nullopt, std::nullopt, std::nullopt, progress);
                return to_numpy(safety::expected_visits(self.game(), starts, copied(values), limits));
            },
            nb::arg("starts"), nb::arg("values"), nb::arg("progress") = nb::none())
        .def(
            "likely_run",
            [](const RiskGame &self, const std::vector<StateId> &starts) {
                check_states(self.game(), starts);
                safety::LikelyRun run = safety::most_likely_unsafe_run(self.game(), starts);
                return nb::make_tuple(run.states, run.probability);
            },
            nb::arg("starts"));
}

}  // namespace

void define_risk(nb::module_ &module) {
    define_game(module);
    nb::class_<GameSpace>(module, "JaniGame",
                          "The part of a task that is reachable from some states, with probabilities.")
        .def(
            "__init__",
            [](GameSpace *self, std::shared_ptr<JaniTransitions> transitions, const std::vector<StateId> &roots,
               safety::System *policy, std::optional<double> seconds, std::optional<std::size_t> bytes,
               std::optional<std::uint64_t> states, nb::object progress) {
                for (StateId root : roots) checked(transitions->engine(), root);
                if (policy != nullptr) check_same(*policy, *transitions);
                const Limits limits = make_limits(seconds, bytes, states, std::nullopt, progress);
                new (self) GameSpace(transitions->shared_engine(), roots, policy, limits);
            },
            nb::arg("transitions"), nb::arg("roots"), nb::arg("policy").none(), nb::kw_only(),
            nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(), nb::arg("states") = nb::none(),
            nb::arg("progress") = nb::none())
        .def_prop_ro("limit", [](const GameSpace &self) { return name(self.limit()); })
        .def_prop_ro("root_count", &GameSpace::root_count)
        .def_prop_ro("bytes", &GameSpace::bytes)
        .def("__len__", [](const GameSpace &self) { return self.game().size(); })
        .def_prop_ro("game",
                     [](std::shared_ptr<GameSpace> self) { return std::make_shared<RiskGame>(RiskGame{{}, self}); })
        .def("id",
             [](const GameSpace &self, StateId s) {
                 if (s >= self.game().size()) throw nb::index_error("no such state");
                 return self.engine_id(s);
             })
        .def(
            "number",
            [](const GameSpace &self, StateId id) -> std::int64_t {
                const StateId s = self.number_of(id);
                return s == NO_STATE ? -1 : static_cast<std::int64_t>(s);
            },
            nb::arg("id"), "The number of a state of the engine; -1 if it was not met.");

    module.def(
        "sample_jani_risk",
        [](safety::System &system, std::shared_ptr<JaniTransitions> transitions, const std::vector<StateId> &starts,
           std::uint64_t runs, std::uint64_t seed, std::uint64_t max_steps, std::optional<double> seconds,
           std::optional<std::size_t> bytes, nb::object progress) {
            check_same(system, *transitions);
            for (StateId start : starts) checked(transitions->engine(), start);
            const safety::RiskSample found =
                safety::sample_risk(system, transitions->engine(), starts, runs, seed, max_steps,
                                    make_limits(seconds, bytes, std::nullopt, std::nullopt, progress));
            return nb::make_tuple(found.runs, found.unsafe, found.cut, found.steps, found.several_edges,
                                  name(found.limit));
        },
        nb::arg("system"), nb::arg("transitions"), nb::arg("starts"), nb::arg("runs"), nb::arg("seed"),
        nb::arg("max_steps"), nb::kw_only(), nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(),
        nb::arg("progress") = nb::none(),
        "Runs, unsafe ones, cut ones, steps, whether the environment chose between edges, the limit.");
}

}  // namespace misstep::bindings
