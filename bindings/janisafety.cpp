#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>

#include "jani.h"
#include "janisafety/ground_truth.h"
#include "janisafety/jani_transitions.h"
#include "janisafety/network_policy.h"
#include "janisafety/random_label.h"

namespace misstep::bindings {

namespace {

using jani::Engine;
using safety::JaniTransitions;
using safety::LabelId;
using safety::LabelPolicy;

// A network that is computed in Python, such as an ONNX session: rows in, rows out, as arrays.
class CallbackNetwork : public Network {
   public:
    CallbackNetwork(int inputs, int outputs, nb::object evaluate)
        : Network(inputs, outputs), evaluate_(std::move(evaluate)) {}

    void evaluate(const double *inputs, int count, double *outputs) override {
        const std::vector<std::size_t> shape{static_cast<std::size_t>(count), static_cast<std::size_t>(this->inputs())};
        const nb::object answer = evaluate_(to_numpy(std::vector<double>(inputs, inputs + shape[0] * shape[1]), shape));
        nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> rows;
        if (!nb::try_cast(answer, rows) || rows.shape(0) != shape[0] ||
            rows.shape(1) != static_cast<std::size_t>(this->outputs()))
            throw safety::PolicyError("the network did not answer with a row of numbers for each state");
        std::copy_n(rows.data(), rows.size(), outputs);
    }

   private:
    nb::object evaluate_;
};

LabelId label_named(const Engine &engine, const std::string &name) {
    const std::vector<std::string> &labels = engine.model().labels();
    const auto found = std::find(labels.begin(), labels.end(), name);
    if (found == labels.end()) {
        std::string known;
        for (std::size_t i = 0; i < std::min<std::size_t>(labels.size(), 20); ++i)
            known += (i == 0 ? "" : ", ") + labels[i];
        throw jani::ModelError("the model has no label '" + name + "'", "", "one of " + known);
    }
    return static_cast<LabelId>(found - labels.begin());
}

}  // namespace

void define_janisafety(nb::module_ &module) {
    nb::class_<JaniTransitions, safety::Transitions>(module, "JaniTransitions",
                                                     "A JANI task as a transition system, with the ids of its engine.")
        .def(nb::init<std::shared_ptr<Engine>>(), nb::arg("engine"))
        .def_prop_ro("engine", &JaniTransitions::shared_engine)
        .def(
            "id",
            [](JaniTransitions &self, nb::object state) {
                return self.engine().intern(to_words(self.engine().model(), state).data());
            },
            nb::arg("state"))
        .def(
            "state",
            [](JaniTransitions &self, StateId id) {
                std::vector<jani::Word> values(self.engine().model().slots().size());
                self.engine().values(checked(self.engine(), id), values.data());
                return to_state(self.engine().model(), values.data());
            },
            nb::arg("id"))
        .def(
            "label",
            [](JaniTransitions &self, LabelId label) {
                if (label < 0 || label >= self.engine().label_count()) throw nb::index_error("no such label");
                return self.label_name(label);
            },
            nb::arg("id"))
        .def(
            "label_id",
            [](JaniTransitions &self, const std::string &label) { return label_named(self.engine(), label); },
            nb::arg("label"));

    nb::class_<safety::RandomLabel, LabelPolicy>(module, "RandomLabel",
                                                 "A label at random, as a function of the state.")
        .def(nb::init<std::shared_ptr<const Engine>, std::uint64_t>(), nb::arg("engine"), nb::arg("seed"));

    nb::class_<CallbackNetwork, Network>(module, "CallbackNetwork", "A network computed in Python.")
        .def(nb::init<int, int, nb::object>(), nb::arg("inputs"), nb::arg("outputs"), nb::arg("evaluate"));

    nb::class_<safety::NetworkPolicy, LabelPolicy>(module, "NetworkPolicy",
                                                   "A network over the variables of a JANI task.")
        .def(nb::init<std::shared_ptr<const Engine>, std::shared_ptr<Network>, std::vector<std::uint32_t>,
                      std::vector<LabelId>, bool, std::map<std::uint32_t, double>>(),
             nb::arg("engine"), nb::arg("network"), nb::arg("columns"), nb::arg("labels"), nb::kw_only(),
             nb::arg("filter") = true, nb::arg("constants") = std::map<std::uint32_t, double>{});

    using safety::GroundTruth;
    nb::class_<GroundTruth>(module, "JaniGroundTruth", "The truth about every state of a whole space.")
        .def_prop_ro("limit", [](const GroundTruth &self) { return name(self.limit); })
        .def_prop_ro(
            "decisions", [](const GroundTruth &self) { return to_numpy(std::vector(self.decisions)); },
            "Of the policy; -1 in terminal states and where it stops.")
        .def_prop_ro("lost", [](const GroundTruth &self) { return to_numpy(std::vector(self.lost)); })
        .def_prop_ro(
            "deviations", [](const GroundTruth &self) { return to_numpy(std::vector(self.deviations)); },
            "That a safe strategy needs; one more than the largest radius: more than that, or lost.")
        .def_prop_ro("faults", [](const GroundTruth &self) { return to_numpy(std::vector(self.faults)); })
        .def_prop_ro(
            "bugs", [](const GroundTruth &self) { return to_numpy(std::vector(self.bugs)); },
            "Safe, but the policy can become unsafe; where it stops, it does not.");
    module.def(
        "jani_ground_truth",
        [](jani::Space &space, std::shared_ptr<JaniTransitions> transitions, safety::System &system,
           std::uint32_t largest, std::optional<double> seconds, std::optional<std::size_t> bytes,
           nb::object progress) {
            if (!space.complete()) throw nb::value_error("the space is not complete");
            if (&system.transitions() != transitions.get())
                throw nb::value_error("the system is not over these transitions");
            if (largest >= safety::UNBOUNDED - 1) throw nb::value_error("the largest radius is too large");
            return safety::ground_truth(space, system, transitions->engine(), largest,
                                        make_limits(seconds, bytes, std::nullopt, std::nullopt, progress));
        },
        nb::arg("space"), nb::arg("transitions"), nb::arg("system"), nb::arg("largest"), nb::kw_only(),
        nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(), nb::arg("progress") = nb::none());
}

}  // namespace misstep::bindings
