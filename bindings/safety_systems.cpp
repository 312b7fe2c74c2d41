#include <cmath>

#include "safety.h"
#include "safety/explicit_transitions.h"
#include "safety/oracle_shield.h"
#include "safety/policies.h"

namespace misstep::bindings {

namespace {

using safety::LabelId;

// Dense ids for Python objects. The objects must be hashable and compare by value.
class Interned {
   public:
    std::uint32_t id(nb::handle object) {
        if (PyObject *known = PyDict_GetItemWithError(ids_.ptr(), object.ptr()); known != nullptr)
            return nb::cast<std::uint32_t>(nb::handle(known));
        if (PyErr_Occurred()) throw nb::python_error();
        const auto fresh = static_cast<std::uint32_t>(objects_.size());
        ids_[object] = fresh;
        objects_.push_back(nb::borrow(object));
        return fresh;
    }
    nb::object operator[](std::uint32_t id) const {
        if (id >= objects_.size()) throw nb::index_error("no such id");
        return objects_[id];
    }

   private:
    nb::dict ids_;
    std::vector<nb::object> objects_;
};

// A transition system in Python: any object with applicable(s), outcomes(s, a), is_goal(s) and is_unsafe(s). It may also have
// distance(s), which guides the searches, and probabilities(s, a), a dictionary by which outcomes are drawn.
class PythonTransitions : public safety::Transitions {
   public:
    PythonTransitions(nb::object model, const nb::iterable &initial)
        : applicable_(model.attr("applicable")),
          outcomes_(model.attr("outcomes")),
          is_goal_(model.attr("is_goal")),
          is_unsafe_(model.attr("is_unsafe")),
          distance_(nb::getattr(model, "distance", nb::none())),
          probabilities_(nb::getattr(model, "probabilities", nb::none())) {
        for (nb::handle state : initial) initial_.push_back(states.id(state));
    }

    std::uint8_t flags(StateId id) override {
        const nb::object state = states[id];
        return (is_true(is_unsafe_(state)) ? safety::UNSAFE : 0) | (is_true(is_goal_(state)) ? safety::GOAL : 0);
    }
    void expand(StateId id, safety::Expansion &result) override {
        std::vector<LabelId> applicable;
        labels(id, applicable);
        for (LabelId label : applicable) {
            add_outcomes(id, label, result.outcomes);
            result.close(label);
        }
    }
    bool has_distance() const override { return !distance_.is_none(); }
    double distance(StateId id) override {
        const auto distance = nb::cast<double>(distance_(states[id]));
        if (std::isnan(distance)) throw safety::ModelError("the distance is not a number in " + describe(id));
        return distance;
    }
    bool has_probabilities() const override { return !probabilities_.is_none(); }
    void probabilities(StateId id, LabelId label, std::vector<StateId> &outcomes,
                       std::vector<double> &chances) override {
        outcomes.clear();
        chances.clear();
        const nb::object found = probabilities_(states[id], names[static_cast<std::uint32_t>(label)]);
        for (auto [outcome, chance] : nb::cast<nb::dict>(found)) {
            outcomes.push_back(states.id(outcome));
            chances.push_back(nb::cast<double>(chance));
        }
    }
    StateId sample(CounterRandom &random) override {
        if (initial_.empty()) throw safety::ModelError("there is no initial state");
        return initial_[random.below(initial_.size())];
    }
    bool is_partial() const override { return true; }
    void labels(StateId id, std::vector<LabelId> &result) override {
        result.clear();
        for (nb::handle label : nb::iter(applicable_(states[id])))
            result.push_back(static_cast<LabelId>(names.id(label)));
    }
    void outcomes(StateId id, LabelId label, std::vector<StateId> &result) override {
        result.clear();
        add_outcomes(id, label, result);
    }
    std::string describe(StateId id) const override { return "state " + text(states[id]); }
    std::string label_name(LabelId label) const override {
        return "label " + text(names[static_cast<std::uint32_t>(label)]);
    }

    Interned states;
    Interned names;  // of labels

   private:
    void add_outcomes(StateId id, LabelId label, std::vector<StateId> &result) {
        for (nb::handle outcome : nb::iter(outcomes_(states[id], names[static_cast<std::uint32_t>(label)])))
            result.push_back(states.id(outcome));
    }
    // Like `if` in Python, since a model may return a number or an array element.
    static bool is_true(const nb::object &answer) {
        const int truth = PyObject_IsTrue(answer.ptr());
        if (truth < 0) throw nb::python_error();
        return truth != 0;
    }
    static std::string text(const nb::object &object) { return nb::cast<std::string>(nb::repr(object)); }

    nb::object applicable_, outcomes_, is_goal_, is_unsafe_, distance_, probabilities_;
    std::vector<StateId> initial_;
};

// A policy in Python, over ids: act(id) returns a label or None. Optional are values(id, labels), which returns a number for each
// label, and act_batch(ids), which returns the labels of many states.
class PythonPolicy : public safety::LabelPolicy {
   public:
    PythonPolicy(nb::object act, nb::object values, nb::object act_batch)
        : act_(std::move(act)), values_(std::move(values)), act_batch_(std::move(act_batch)) {}

    LabelId choose(StateId id, std::span<const LabelId>) override {
        if (const auto known = prepared_.find(id); known != prepared_.end()) {
            const LabelId label = known->second;
            prepared_.erase(known);
            return label;
        }
        return label_of(act_(id));
    }
    bool has_values() const override { return !values_.is_none(); }
    void values(StateId id, std::span<const LabelId> labels, std::span<double> result) override {
        const auto values =
            nb::cast<std::vector<double>>(values_(id, std::vector<LabelId>(labels.begin(), labels.end())));
        if (values.size() != labels.size())
            throw safety::PolicyError("the policy values another number of labels than it was given");
        std::copy(values.begin(), values.end(), result.begin());
    }
    void prepare(std::span<const StateId> ids) override {
        if (act_batch_.is_none()) return;
        std::vector<StateId> asked;
        for (StateId id : ids)
            if (!prepared_.contains(id)) asked.push_back(id);
        if (asked.empty()) return;
        const nb::list labels(act_batch_(asked));
        if (labels.size() != asked.size())
            throw safety::PolicyError("the policy answered for another number of states than it was asked about");
        for (std::size_t i = 0; i < asked.size(); ++i) prepared_[asked[i]] = label_of(labels[i]);
    }

   private:
    static LabelId label_of(const nb::object &label) {
        return label.is_none() ? safety::NO_LABEL : nb::cast<LabelId>(label);
    }

    nb::object act_, values_, act_batch_;
    std::unordered_map<StateId, LabelId> prepared_;
};

void define_transitions(nb::module_ &module) {
    nb::class_<safety::Transitions>(module, "Transitions", "A non-deterministic transition system, explored lazily.");
    nb::class_<safety::ExplicitTransitions, safety::Transitions>(module, "ExplicitTransitions")
        .def(
            "__init__",
            [](safety::ExplicitTransitions *self, std::vector<std::uint8_t> flags, std::vector<std::uint32_t> actions,
               std::vector<LabelId> labels, std::vector<std::uint32_t> offsets, std::vector<StateId> outcomes,
               std::vector<StateId> initial, std::vector<double> distances) {
                new (self) safety::ExplicitTransitions({std::move(flags), std::move(actions), std::move(labels),
                                                        std::move(offsets), std::move(outcomes), std::move(initial),
                                                        std::move(distances)});
            },
            nb::arg("flags"), nb::arg("actions"), nb::arg("labels"), nb::arg("offsets"), nb::arg("outcomes"),
            nb::arg("initial") = std::vector<StateId>(), nb::arg("distances") = std::vector<double>())
        .def("__len__", &safety::ExplicitTransitions::size)
        .def(
            "id",
            [](const safety::ExplicitTransitions &self, StateId state) {
                if (state >= self.size()) throw nb::index_error("no such state");
                return state;
            },
            nb::arg("state"))
        .def(
            "state",
            [](const safety::ExplicitTransitions &self, StateId id) {
                if (id >= self.size()) throw nb::index_error("no such state");
                return id;
            },
            nb::arg("id"))
        .def(
            "label", [](const safety::ExplicitTransitions &, LabelId label) { return label; }, nb::arg("id"))
        .def("label_id", [](const safety::ExplicitTransitions &, LabelId label) { return label; }, nb::arg("label"));
    nb::class_<PythonTransitions, safety::Transitions>(module, "PythonTransitions")
        .def(
            "__init__",
            [](PythonTransitions *self, nb::object model, const nb::iterable &initial) {
                new (self) PythonTransitions(std::move(model), initial);
            },
            nb::arg("model"), nb::arg("initial") = nb::tuple())
        .def(
            "id", [](PythonTransitions &self, nb::handle state) { return self.states.id(state); },
            nb::arg("state").none())
        .def(
            "state", [](PythonTransitions &self, StateId id) { return self.states[id]; }, nb::arg("id"))
        .def(
            "label", [](PythonTransitions &self, std::uint32_t label) { return self.names[label]; }, nb::arg("id"))
        .def(
            "label_id", [](PythonTransitions &self, nb::handle label) { return self.names.id(label); },
            nb::arg("label"));
}

void define_policies(nb::module_ &module) {
    using safety::LabelPolicy;
    nb::class_<LabelPolicy>(module, "LabelPolicy", "A policy over the labels of a transition system.");
    nb::class_<safety::FirstLabel, LabelPolicy>(module, "FirstLabel").def(nb::init<>());
    nb::class_<safety::LabelTable, LabelPolicy>(module, "LabelTable")
        .def(nb::init<std::vector<LabelId>>(), nb::arg("labels"));
    nb::class_<PythonPolicy, LabelPolicy>(module, "PythonLabelPolicy")
        .def(nb::init<nb::object, nb::object, nb::object>(), nb::arg("act"), nb::arg("values").none(),
             nb::arg("act_batch").none());
    nb::class_<safety::PatchedPolicy, LabelPolicy>(module, "PatchedPolicy")
        .def(nb::init<std::shared_ptr<LabelPolicy>, std::unordered_map<StateId, LabelId>>(), nb::arg("inner"),
             nb::arg("patches"));
    nb::class_<safety::BlacklistShield, LabelPolicy>(module, "BlacklistShield")
        .def(nb::init<std::shared_ptr<LabelPolicy>, std::unordered_map<StateId, std::vector<LabelId>>>(),
             nb::arg("inner"), nb::arg("forbidden"));
    nb::class_<safety::OracleShield, LabelPolicy>(module, "OracleShield")
        .def(
            "__init__",
            [](safety::OracleShield *self, std::shared_ptr<safety::Decider> decider, std::optional<double> seconds,
               std::optional<std::size_t> bytes, std::optional<std::uint64_t> expansions,
               std::optional<std::uint64_t> evaluations) {
                if (!decider->system().has_policy())
                    throw nb::value_error("the decider's system has no policy to shield");
                new (self) safety::OracleShield(std::move(decider),
                                                make_limits(seconds, bytes, expansions, evaluations, nb::none()));
            },
            nb::arg("decider"), nb::kw_only(), nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(),
            nb::arg("expansions") = nb::none(), nb::arg("evaluations") = nb::none())
        .def("allowed", &safety::OracleShield::allowed, nb::arg("id"))
        .def_prop_ro("corrected", &safety::OracleShield::corrected)
        .def_prop_ro("unguarded", &safety::OracleShield::unguarded);
}

template <class Enum>
Enum named(std::string_view name, std::initializer_list<std::pair<std::string_view, Enum>> names, const char *what) {
    for (const auto &[text, value] : names)
        if (text == name) return value;
    throw nb::value_error(what);
}

nb::tuple to_python(const safety::Expansion &expansion) {
    return nb::make_tuple(expansion.labels, expansion.offsets, expansion.outcomes);
}

void define_system(nb::module_ &module) {
    using safety::System;
    static constexpr const char *KINDS[] = {"unseen", "open", "unsafe", "goal", "dead end"};
    nb::class_<System>(module, "SafetySystem", "A transition system under a policy, as far as it has been explored.")
        .def(
            "__init__",
            [](System *self, std::shared_ptr<safety::Transitions> transitions,
               std::shared_ptr<safety::LabelPolicy> policy, std::string_view dead_end, std::string_view inapplicable,
               std::string_view order) {
                using namespace safety;
                const Rules rules{
                    named<DeadEnds>(
                        dead_end, {{"safe", DeadEnds::safe}, {"unsafe", DeadEnds::unsafe}, {"error", DeadEnds::error}},
                        "no such rule for dead ends"),
                    named<Inapplicable>(inapplicable,
                                        {{"filter", Inapplicable::filter},
                                         {"stop_safe", Inapplicable::stop_safe},
                                         {"error", Inapplicable::error}},
                                        "no such rule for inapplicable labels"),
                    named<Order>(order,
                                 {{"safest", Order::safest}, {"policy", Order::policy}, {"declared", Order::declared}},
                                 "no such order")};
                new (self) System(std::move(transitions), std::move(policy), rules);
            },
            nb::arg("transitions"), nb::arg("policy").none(), nb::arg("dead_end") = "safe",
            nb::arg("inapplicable") = "filter", nb::arg("order") = "safest")
        .def("set_policy", &System::set_policy, nb::arg("policy"))
        .def(
            "kind", [](System &self, StateId id) { return KINDS[static_cast<int>(self.kind(id))]; }, nb::arg("id"),
            "open, unsafe, goal or dead end; the last one is noticed when the state is expanded, unless the rules say "
            "otherwise.")
        .def(
            "actions",
            [](System &self, StateId id) {
                nb::list result;
                if (self.kind(id) != safety::Kind::open) return result;
                const safety::Actions actions = self.actions(id);
                for (std::uint32_t i = 0; i < actions.count(); ++i) {
                    const std::span<const StateId> outcomes = actions.outcomes(i);
                    result.append(
                        nb::make_tuple(actions.label(i), std::vector<StateId>(outcomes.begin(), outcomes.end())));
                }
                return result;
            },
            nb::arg("id"), "Labels with their outcomes; none if the state is terminal.")
        .def(
            "decision",
            [](System &self, StateId id) -> std::optional<LabelId> {
                if (self.kind(id) != safety::Kind::open) return std::nullopt;
                const LabelId label = self.decision(id);
                return label == safety::NO_LABEL ? std::nullopt : std::optional(label);
            },
            nb::arg("id"), "The policy's label; None where it stops and in terminal states.")
        .def(
            "prepare", [](System &self, const std::vector<StateId> &ids) { self.prepare(ids); }, nb::arg("ids"),
            "Ask the policy about these states in one batch, if it takes batches and was not asked before.")
        .def(
            "policy_outcomes",
            [](System &self, StateId id) {
                if (self.kind(id) != safety::Kind::open) return std::vector<StateId>();
                const std::span<const StateId> outcomes = self.policy_outcomes(id);
                return std::vector<StateId>(outcomes.begin(), outcomes.end());
            },
            nb::arg("id"))
        .def("distance", &System::distance, nb::arg("id"))
        .def("distance_to_unsafe", &System::distance_to_unsafe, nb::arg("id"))
        .def_prop_ro("has_probabilities", [](System &self) { return self.transitions().has_probabilities(); })
        .def("sample", &System::sample, nb::arg("random"))
        .def(
            "fresh_flags", [](System &self, StateId id) { return self.transitions().flags(id); }, nb::arg("id"),
            "What the model says, not what is kept of it: 1 unsafe, 2 goal.")
        .def(
            "fresh_expansion",
            [](System &self, StateId id) {
                safety::Expansion expansion;
                self.transitions().expand(id, expansion);
                return to_python(expansion);
            },
            nb::arg("id"), "Labels, offsets and outcomes, likewise.")
        .def_prop_ro("expansions", &System::expansions)
        .def_prop_ro("policy_calls", &System::policy_calls)
        .def_prop_ro("bytes", &System::bytes);
}

}  // namespace

void define_safety_systems(nb::module_ &module) {
    nb::register_exception_translator([](const std::exception_ptr &pointer, void *) {
        const auto raise = [](const char *type, const char *what, const char *hint) {
            nb::dict fields;
            fields["hint"] = hint;
            nb::object error = nb::module_::import_("misstep.errors").attr(type)(what, **fields);
            PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
        };
        try {
            std::rethrow_exception(pointer);
        } catch (const safety::ModelError &error) {
            raise("InputFormatError", error.what(), "this is about the model");
        } catch (const safety::PolicyError &error) {
            raise("ToolError", error.what(),
                  "--inapplicable (in Python: inapplicable) may say what else is to happen there");
        }
    });
    define_transitions(module);
    define_policies(module);
    define_system(module);
}

}  // namespace misstep::bindings
