#include "safety.h"

#include "safety/envelope.h"
#include "safety/fuzzer.h"
#include "safety/make_decider.h"

namespace misstep::bindings {

namespace {

using safety::Decider;
using safety::Decision;
using safety::LabelId;
using safety::System;

// Steps as two lists, of states and labels.
nb::tuple to_python(const std::vector<safety::Step> &steps) {
    std::vector<StateId> states;
    std::vector<LabelId> labels;
    for (const auto &[state, label] : steps) {
        states.push_back(state);
        labels.push_back(label);
    }
    return nb::make_tuple(std::move(states), std::move(labels));
}

void define_deciders(nb::module_ &module) {
    nb::class_<Decision>(module, "SafetyDecision")
        .def_prop_ro("answer", [](const Decision &self) { return name(self.answer); })
        .def_prop_ro("limit", [](const Decision &self) { return name(self.limit); })
        .def_prop_ro(
            "evaluations", [](const Decision &self) { return self.progress.evaluations; },
            "Nodes that were evaluated: pushed on a stack or backed up.")
        .def_prop_ro("expansions", [](const Decision &self) { return self.progress.expansions; })
        .def_prop_ro("seconds", [](const Decision &self) { return self.progress.seconds; })
        .def_ro("policy_calls", &Decision::policy_calls);

    nb::class_<Decider>(module, "SafetyDecider", "Decides whether states are safe.")
        .def(
            "decide",
            [](Decider &self, StateId id, std::optional<std::uint64_t> radius, std::optional<double> seconds,
               std::optional<std::size_t> bytes, std::optional<std::uint64_t> expansions,
               std::optional<std::uint64_t> evaluations, nb::object progress) {
                return self.decide(id, radius_of(radius),
                                   make_limits(seconds, bytes, expansions, evaluations, progress));
            },
            nb::arg("id"), nb::arg("radius") = nb::none(), MISSTEP_LIMIT_ARGUMENTS)
        .def(
            "known",
            [](Decider &self, StateId id, std::optional<std::uint64_t> radius) {
                return name(self.known(id, radius_of(radius)));
            },
            nb::arg("id"), nb::arg("radius") = nb::none(), "What is known without search.")
        .def(
            "smallest_radius",
            [](Decider &self, StateId id, std::optional<std::uint64_t> largest, std::optional<double> seconds,
               std::optional<std::size_t> bytes, std::optional<std::uint64_t> expansions,
               std::optional<std::uint64_t> evaluations, nb::object progress) {
                Decision decision;
                const Limits limits = make_limits(seconds, bytes, expansions, evaluations, progress);
                const safety::Radius radius = self.smallest_radius(id, radius_of(largest), limits, decision);
                return nb::make_tuple(radius_to_python(radius), decision);
            },
            nb::arg("id"), nb::arg("largest"), MISSTEP_LIMIT_ARGUMENTS,
            "The least radius up to `largest` for which the state is safe, infinity if none is large enough, None if "
            "it is not safe.")
        .def(
            "facts",
            [](Decider &self, StateId id) {
                const safety::Facts facts = self.facts(id);
                return nb::make_tuple(facts.lower, radius_to_python(facts.upper), facts.lost, facts.safe);
            },
            nb::arg("id"),
            "Bounds on the deviations of a safe strategy (None: no upper one), whether it is lost, whether it is safe.")
        .def(
            "strategy",
            [](Decider &self, StateId id, std::optional<std::uint64_t> radius) {
                return to_python(self.strategy(id, radius_of(radius)));
            },
            nb::arg("id"), nb::arg("radius") = nb::none(),
            "States and labels of a safe strategy; for states known to be safe.")
        .def("adopt_lost", &Decider::adopt_lost, nb::arg("other"),
             "Take over which states are lost from a decider of the same system.")
        .def(
            "strategy_of_all",
            [](Decider &self, const std::vector<StateId> &ids, std::optional<std::uint64_t> radius) {
                std::vector<StateId> states;
                std::vector<safety::LabelId> labels;
                for (const safety::Step &step : self.strategy(ids, radius_of(radius))) {
                    states.push_back(step.state);
                    labels.push_back(step.label);
                }
                const std::vector<std::size_t> shape{states.size()};
                return nb::make_tuple(to_numpy(std::move(states), shape), to_numpy(std::move(labels), shape));
            },
            nb::arg("ids"), nb::arg("radius") = nb::none(),
            "One safe strategy for several states: arrays of everything that can come up, and of the labels there.")
        .def_prop_ro("bytes", &Decider::bytes);
    module.def(
        "make_safety_decider",
        [](System &system, std::string_view kind, std::uint64_t seed) {
            std::unique_ptr<Decider> decider = safety::make_decider(kind, system, seed);
            if (decider == nullptr) throw nb::value_error("no such decider");
            return decider.release();
        },
        nb::arg("system"), nb::arg("kind"), nb::arg("seed"), nb::keep_alive<0, 1>(), nb::rv_policy::take_ownership);
}

void define_fuzzer(nb::module_ &module) {
    using safety::FuzzRun;
    nb::class_<FuzzRun>(module, "FuzzRun")
        .def_prop_ro("end", [](const FuzzRun &self) { return safety::name(self.end); })
        .def_ro("states", &FuzzRun::states)
        .def_ro("labels", &FuzzRun::labels)
        .def_ro("looked_at", &FuzzRun::looked_at)
        .def_ro("cut", &FuzzRun::cut)
        .def("__len__", [](const FuzzRun &self) { return self.labels.size(); });

    nb::class_<safety::Fuzzer>(module, "SafetyFuzzer", "Looks for runs of a policy into unsafe states.")
        .def(
            "__init__",
            [](safety::Fuzzer *self, System &system, std::string_view select, std::optional<std::uint32_t> lookahead,
               std::uint32_t lookahead_cap, std::uint32_t max_steps, bool stop_on_revisit, bool all_layers,
               bool plain_distance) {
                safety::FuzzRules rules;
                if (select == "greedy") rules.select = safety::Select::greedy;
                else if (select == "sample") rules.select = safety::Select::sample;
                else if (select == "uniform") rules.select = safety::Select::uniform;
                else if (select == "probable") rules.select = safety::Select::probable;
                else throw nb::value_error("no such selection");
                if (rules.select == safety::Select::probable && !system.transitions().has_probabilities())
                    throw nb::value_error("the model has no probabilities");
                if (lookahead) rules.lookahead = *lookahead;
                if (rules.lookahead == 0) throw nb::value_error("a lookahead needs at least one layer");
                rules.lookahead_cap = lookahead_cap;
                rules.max_steps = max_steps;
                rules.stop_on_revisit = stop_on_revisit;
                rules.layers = all_layers ? safety::Layers::all : safety::Layers::fresh;
                rules.plain_distance = plain_distance;
                new (self) safety::Fuzzer(system, rules);
            },
            nb::arg("system"), nb::kw_only(), nb::arg("select"), nb::arg("lookahead").none(), nb::arg("lookahead_cap"),
            nb::arg("max_steps"), nb::arg("stop_on_revisit"), nb::arg("all_layers") = false,
            nb::arg("plain_distance") = false, nb::keep_alive<1, 2>())
        .def(
            "run", [](safety::Fuzzer &self, StateId start, CounterRandom &random) { return self.run(start, random); },
            nb::arg("start"), nb::arg("random"))
        .def(
            "runs",
            [](safety::Fuzzer &self, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
               const std::vector<StateId> &starts) {
                std::vector<FuzzRun> runs;
                for (std::uint64_t i = first; i < first + count; ++i) {
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                    CounterRandom random(seed, i);
                    const StateId start =
                        starts.empty() ? self.system().sample(random) : starts[random.below(starts.size())];
                    runs.push_back(self.run(start, random));
                }
                return runs;
            },
            nb::arg("seed"), nb::arg("first"), nb::arg("count"), nb::arg("starts") = std::vector<StateId>(),
            "Runs number `first` and following, each with random numbers of its own, from initial states or the given "
            "ones.");

    using safety::Envelope;
    nb::class_<Envelope>(module, "SafetyEnvelope")
        .def_prop_ro("limit", [](const Envelope &self) { return name(self.limit); })
        .def_ro("is_safe", &Envelope::is_safe)
        .def_ro("states", &Envelope::states)
        .def_ro("labels", &Envelope::labels)
        .def_ro("reached", &Envelope::reached)
        .def_ro("dead_ends", &Envelope::dead_ends)
        .def_ro("stops", &Envelope::stops);
    module.def(
        "explore_envelope",
        [](System &system, const std::vector<StateId> &starts, std::optional<double> seconds,
           std::optional<std::size_t> bytes, std::optional<std::uint64_t> expansions,
           std::optional<std::uint64_t> evaluations, nb::object progress) {
            return safety::explore_envelope(system, starts,
                                            make_limits(seconds, bytes, expansions, evaluations, progress));
        },
        nb::arg("system"), nb::arg("starts"), MISSTEP_LIMIT_ARGUMENTS);
}

}  // namespace

void define_safety(nb::module_ &module) {
    define_deciders(module);
    define_fuzzer(module);
}

}  // namespace misstep::bindings
