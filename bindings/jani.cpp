#include "jani.h"

#include <nanobind/stl/tuple.h>

#include <cmath>
#include <limits>

#include "jani/space.h"

namespace misstep::bindings {

namespace {

using namespace misstep::jani;

nb::object to_python(Type type, Word value) {
    if (type == Type::boolean) return nb::bool_(value != 0);
    if (type == Type::integer) return nb::int_(value);
    return nb::float_(as_real(value));
}

Word to_word(const Slot &slot, nb::handle value) {
    const auto wrong = [&](const char *expected) {
        return ModelError(slot.name + " = " + std::string(nb::repr(value).c_str()) + " is not " + expected, "",
                          std::string("a value of type ") + name(slot.type));
    };
    switch (slot.type) {
        case Type::boolean:
            if (!nb::isinstance<nb::bool_>(value)) throw wrong("a Boolean");
            return nb::cast<bool>(value);
        case Type::integer: {
            Word result;
            if (nb::isinstance<nb::bool_>(value) || !nb::isinstance<nb::int_>(value) || !nb::try_cast(value, result))
                throw wrong("an integer of 64 bits");
            return result;
        }
        case Type::real: {
            double result;
            if (nb::isinstance<nb::bool_>(value) || !nb::try_cast(value, result) || !std::isfinite(result))
                throw wrong("a finite number");
            return stored_real(result);
        }
    }
    return 0;
}

}  // namespace

std::vector<Word> to_words(const Model &model, nb::handle state) {
    const std::vector<Slot> &slots = model.slots();
    std::vector<Word> result;
    nb::object sequence = nb::borrow(state);
    if (!nb::isinstance<nb::sequence>(sequence) || nb::len(sequence) != slots.size())
        throw ModelError("this is no state of the model: " + std::string(nb::repr(state).c_str()), "",
                         std::to_string(slots.size()) + " values");
    for (std::size_t i = 0; i < slots.size(); ++i) result.push_back(to_word(slots[i], sequence[i]));
    return result;
}

nb::tuple to_state(const Model &model, const Word *values) {
    nb::list result;
    for (std::size_t i = 0; i < model.slots().size(); ++i) result.append(to_python(model.slots()[i].type, values[i]));
    return nb::tuple(result);
}

namespace {

Type type_of(std::string_view text) {
    if (text == "bool") return Type::boolean;
    if (text == "int") return Type::integer;
    if (text == "real") return Type::real;
    throw nb::value_error("no such type");
}

// A list that Python owns.
template <class T>
nb::list listed(std::span<const T> values) {
    nb::list result;
    for (const T &value : values) result.append(value);
    return result;
}

// Collects a model, expression by expression.
struct Builder {
    std::unique_ptr<Expressions> expressions = std::make_unique<Expressions>();
    std::vector<std::vector<EdgeSource>> groups;
    std::vector<Vector> vectors;
    std::vector<TransientSource> transients;
    std::vector<TransientValueSource> transient_values;

    void check(ExprId e) const {
        if (e < 0 || static_cast<std::size_t>(e) >= expressions->size()) throw nb::index_error("no such expression");
    }
    void check_slot(SlotId slot) const {
        if (slot >= expressions->slots().size()) throw nb::index_error("no such slot");
    }
};

LabelId checked_label(const Engine &engine, LabelId label) {
    if (label < 0 || label >= engine.label_count()) throw nb::index_error("no such label");
    return label;
}

nb::list expansion_to_python(const Expansion &expansion) {
    nb::list result;
    for (std::size_t i = 0; i < expansion.labels.size(); ++i)
        result.append(nb::make_tuple(expansion.labels[i], listed(expansion.of(i))));
    return result;
}

const char *method_name(InitialStates::Method method) {
    switch (method) {
        case InitialStates::Method::listed: return "listed";
        case InitialStates::Method::enumerated: return "enumerated";
        case InitialStates::Method::counted: return "counted";
        case InitialStates::Method::rejection: return "rejection";
        case InitialStates::Method::searched: return "searched";
    }
    return "";
}

// The last part: the values of a non-deterministic assignment, each with its condition.
using AssignmentTuple = std::tuple<SlotId, std::int64_t, ExprId, ExprId, std::int64_t, std::string,
                                   std::optional<std::vector<std::pair<Word, ExprId>>>>;
using DestinationTuple =
    std::tuple<ExprId, std::vector<std::pair<SlotId, Word>>, std::vector<AssignmentTuple>, std::string>;
using EdgeTuple = std::tuple<ExprId, std::vector<DestinationTuple>, std::string>;

void define_builder(nb::module_ &module) {
    nb::class_<Builder>(module, "JaniBuilder", "Takes a model from the front end, expression by expression.")
        .def(nb::init<>())
        .def(
            "declare",
            [](Builder &self, const std::string &name, std::string_view type, nb::object low, nb::object high,
               bool transient) {
                Slot slot{type_of(type), transient, false, {}, name};
                if (slot.type == Type::boolean) {
                    slot.range.low = 0;
                    slot.range.high = 1;
                    slot.bounded = true;
                } else if (slot.type == Type::integer) {
                    if (!low.is_none()) slot.range.low = nb::cast<Word>(low);
                    if (!high.is_none()) slot.range.high = nb::cast<Word>(high);
                } else {
                    if (!low.is_none()) slot.range.real_low = nb::cast<double>(low);
                    if (!high.is_none()) slot.range.real_high = nb::cast<double>(high);
                }
                slot.bounded = slot.bounded || (!low.is_none() && !high.is_none());
                // The state consists of the slots before the transient variables.
                if (!transient && !self.expressions->slots().empty() && self.expressions->slots().back().transient)
                    throw nb::value_error("state variables must be declared before transient ones");
                return self.expressions->declare(std::move(slot));
            },
            nb::arg("name"), nb::arg("type"), nb::arg("low").none(), nb::arg("high").none(), nb::arg("transient"))
        .def("boolean", [](Builder &self, bool value) { return self.expressions->boolean(value); })
        .def("integer", [](Builder &self, Word value) { return self.expressions->constant(Type::integer, value); })
        .def("real",
             [](Builder &self, double value) { return self.expressions->constant(Type::real, from_real(value)); })
        .def("variable",
             [](Builder &self, SlotId slot) {
                 self.check_slot(slot);
                 return self.expressions->variable(slot);
             })
        .def(
            "within",
            [](Builder &self, ExprId index, std::int64_t length) {
                self.check(index);
                if (length < 1 || length > std::numeric_limits<std::int32_t>::max())
                    throw nb::value_error("no such length");
                return self.expressions->within(index, length);
            },
            "The index itself; an error when it is not from 0 to length - 1.")
        .def("element",
             [](Builder &self, SlotId first, std::int64_t length, ExprId index) {
                 self.check(index);
                 if (length < 1) throw nb::value_error("no such length");
                 self.check_slot(first + static_cast<SlotId>(length) - 1);
                 return self.expressions->element(first, length, index);
             })
        .def_static(
            "arity",
            [](std::string_view symbol) {
                Op op;
                int arity;
                return parse_op(symbol, op, arity) ? arity : 0;
            },
            "How many operands an operator takes; 0: there is no such operator.")
        .def("apply",
             [](Builder &self, std::string_view symbol, const std::vector<ExprId> &arguments) {
                 Op op;
                 int arity;
                 if (!parse_op(symbol, op, arity) || arguments.size() != static_cast<std::size_t>(arity))
                     throw nb::value_error("no such operator");
                 for (ExprId e : arguments) self.check(e);
                 return self.expressions->apply(op, arguments);
             })
        .def("convert",
             [](Builder &self, ExprId e, std::string_view type) {
                 self.check(e);
                 return self.expressions->convert(e, type_of(type));
             })
        .def("type",
             [](const Builder &self, ExprId e) {
                 self.check(e);
                 return name((*self.expressions)[e].type);
             })
        .def(
            "constant",
            [](const Builder &self, ExprId e) -> nb::object {
                self.check(e);
                if (!self.expressions->is_constant(e)) return nb::none();
                return to_python((*self.expressions)[e].type, (*self.expressions)[e].word);
            },
            "The value of a constant expression, None for others.")
        .def("has_transients",
             [](const Builder &self, ExprId e) {
                 self.check(e);
                 for (SlotId slot : self.expressions->support(e))
                     if (self.expressions->slots()[slot].transient) return true;
                 return false;
             })
        .def("set_transient",
             [](Builder &self, SlotId slot, nb::object initial) {
                 self.check_slot(slot);
                 self.transients.push_back({slot, to_word(self.expressions->slots()[slot], initial)});
             })
        .def(
            "set_transient_value",
            [](Builder &self, std::optional<std::pair<SlotId, Word>> location, SlotId slot, ExprId value,
               const std::string &where) {
                self.check_slot(slot);
                self.check(value);
                self.transient_values.push_back({location, slot, value, where});
            },
            nb::arg("location").none(), nb::arg("slot"), nb::arg("value"), nb::arg("where"))
        .def("add_group",
             [](Builder &self, const std::vector<EdgeTuple> &edges) {
                 std::vector<EdgeSource> group;
                 for (const auto &[guard, destinations, where] : edges) {
                     self.check(guard);
                     EdgeSource edge{guard, {}, where};
                     for (const auto &[probability, moves, assignments, place] : destinations) {
                         self.check(probability);
                         DestinationSource destination{probability, moves, {}, place};
                         for (const auto &[slot, length, index, value, level, spot, choices] : assignments) {
                             self.check_slot(slot);
                             self.check(value);
                             const bool indexed = length > 0;
                             if (indexed) self.check_slot(slot + static_cast<SlotId>(length) - 1);
                             if (indexed) self.check(index);
                             destination.assignments.push_back(
                                 {slot,
                                  length,
                                  indexed ? self.expressions->within(index, length) : NO_EXPRESSION,
                                  value,
                                  level,
                                  spot,
                                  choices.has_value(),
                                  {}});
                             if (choices) {
                                 for (const auto &[chosen, condition] : *choices) self.check(condition);
                                 destination.assignments.back().choices = *choices;
                             }
                         }
                         edge.destinations.push_back(std::move(destination));
                     }
                     group.push_back(std::move(edge));
                 }
                 self.groups.push_back(std::move(group));
                 return static_cast<std::uint32_t>(self.groups.size() - 1);
             })
        .def("add_vector",
             [](Builder &self, LabelId label, const std::vector<std::uint32_t> &groups) {
                 for (std::uint32_t group : groups)
                     if (group >= self.groups.size()) throw nb::index_error("no such group");
                 self.vectors.push_back({label, groups});
             })
        .def(
            "build",
            [](Builder &self, std::vector<std::string> labels, bool disable_out_of_bounds, const std::string &silent,
               std::pair<ExprId, std::string> unsafe, std::pair<ExprId, std::string> goal, ExprId distance, bool scaled,
               nb::object start, std::string start_where) {
                for (ExprId e : {unsafe.first, goal.first, distance}) self.check(e);
                for (const Vector &vector : self.vectors)
                    if (vector.label < SILENT || vector.label >= static_cast<LabelId>(labels.size()))
                        throw nb::index_error("no such label");
                auto model =
                    std::make_shared<Model>(std::move(self.expressions), std::move(labels), std::move(self.groups),
                                            std::move(self.vectors), std::move(self.transients), self.transient_values,
                                            disable_out_of_bounds ? OutOfBounds::disable : OutOfBounds::error,
                                            silent == "step"        ? Silent::step
                                            : silent == "as_action" ? Silent::as_action
                                                                    : Silent::refuse);
                self = Builder();
                jani::Task::Start begin;
                if (nb::isinstance<nb::int_>(start)) {
                    begin = nb::cast<ExprId>(start);
                } else {
                    std::vector<std::vector<Word>> states;
                    for (nb::handle state : start) {
                        states.push_back(to_words(*model, state));
                        if (const auto objection = model->objection(states.back().data()))
                            throw ModelError(*objection, start_where, "states within bounds");
                    }
                    begin = std::move(states);
                }
                return std::make_shared<jani::Task>(model, unsafe.first, unsafe.second, goal.first, goal.second,
                                                    distance, scaled ? Distance::Scale::l1 : Distance::Scale::none,
                                                    std::move(begin), std::move(start_where));
            },
            "The compiled task; the builder is empty afterwards.");
}

void define_engine(nb::module_ &module) {
    nb::class_<Engine>(module, "JaniEngine", "Runs a task, with states as dense ids.")
        .def(nb::init<std::shared_ptr<const jani::Task>, std::size_t>(), nb::arg("task"), nb::arg("cache_bytes") = 0)
        .def("__len__", &Engine::size)
        .def_prop_ro("bytes", &Engine::bytes)
        .def("intern", [](Engine &self, nb::object state) { return self.intern(to_words(self.model(), state).data()); })
        .def(
            "find",
            [](const Engine &self, nb::object state) -> std::int64_t {
                const StateId id = self.find(to_words(self.model(), state).data());
                return id == NO_STATE ? -1 : static_cast<std::int64_t>(id);
            },
            "The id of a state that was seen before, else -1.")
        .def("values",
             [](const Engine &self, StateId id) {
                 std::vector<Word> values(self.model().slots().size());
                 self.values(checked(self, id), values.data());
                 return to_state(self.model(), values.data());
             })
        .def(
            "matrix",
            [](const Engine &self, const std::vector<StateId> &ids) {
                const std::size_t width = self.model().slots().size();
                std::vector<Word> values(width);
                std::vector<double> result;
                result.reserve(ids.size() * width);
                for (StateId id : ids) {
                    self.values(checked(self, id), values.data());
                    for (std::size_t i = 0; i < width; ++i)
                        result.push_back(self.model().slots()[i].type == Type::real ? as_real(values[i])
                                                                                    : static_cast<double>(values[i]));
                }
                const std::vector<std::size_t> shape{ids.size(), width};
                return to_numpy(std::move(result), shape);
            },
            "The values of states as numbers, one row per state.")
        .def(
            "columns",
            [](const Engine &self, const nb::ndarray<const StateId, nb::ndim<1>, nb::c_contig, nb::device::cpu> &ids) {
                const std::size_t width = self.model().slots().size();
                const std::size_t count = ids.shape(0);
                std::vector<Word> values(width);
                std::vector<std::int64_t> result(count * width);
                for (std::size_t row = 0; row < count; ++row) {
                    self.values(checked(self, ids.data()[row]), values.data());
                    for (std::size_t i = 0; i < width; ++i)
                        result[i * count + row] = static_cast<std::int64_t>(values[i]);
                }
                const std::vector<std::size_t> shape{width, count};
                return to_numpy(std::move(result), shape);
            },
            "The values of states, one row per variable: whole numbers, and of real variables the bits of the number.")
        .def("text", [](const Engine &self, StateId id) { return self.text(checked(self, id)); })
        .def("is_unsafe", [](Engine &self, StateId id) { return self.is_unsafe(checked(self, id)); })
        .def(
            "is_goal", [](Engine &self, StateId id) { return self.is_goal(checked(self, id)); },
            "A goal, and not unsafe.")
        .def("is_dead_end", [](Engine &self, StateId id) { return self.is_dead_end(checked(self, id)); })
        .def("is_terminal", [](Engine &self, StateId id) { return self.is_terminal(checked(self, id)); })
        .def(
            "distance", [](Engine &self, StateId id) { return self.distance(checked(self, id)); },
            "0 in unsafe states, and only there.")
        .def(
            "distance_to_unsafe", [](Engine &self, StateId id) { return self.distance_to_unsafe(checked(self, id)); },
            "The same from the unsafety condition alone, whatever condition the property wants measured.")
        .def(
            "expand",
            [](Engine &self, StateId id, bool raw) {
                checked(self, id);
                return expansion_to_python(raw ? self.expand_raw(id) : self.expand(id));
            },
            nb::arg("id"), nb::arg("raw") = false,
            "Pairs of a label and its outcomes. `raw` asks the model, also in unsafe states and goals.")
        .def("applicable", [](Engine &self, StateId id) { return listed(self.applicable(checked(self, id))); })
        .def(
            "outcomes",
            [](Engine &self, StateId id, LabelId label, bool raw) {
                checked(self, id);
                checked_label(self, label);
                return listed(raw ? self.outcomes_raw(id, label) : self.outcomes(id, label));
            },
            nb::arg("id"), nb::arg("label"), nb::arg("raw") = false, "Empty if the label is not applicable.")
        .def(
            "probabilities",
            [](Engine &self, StateId id, LabelId label) {
                checked(self, id);
                checked_label(self, label);
                const std::span<const double> probabilities = self.probabilities(id, label);
                return std::vector<double>(probabilities.begin(), probabilities.end());
            },
            nb::arg("id"), nb::arg("label"),
            "Of the outcomes, in the same order; edges with the same label are equally likely.")
        .def_prop_ro(
            "environment_label", &Engine::environment_label,
            "The label of states where only the environment can move and no policy is asked; -1: there are none.")
        .def("forget_expansions", &Engine::forget_expansions)
        .def_prop_ro("initial_method", [](Engine &self) { return method_name(self.initial().method()); })
        .def_prop_ro("initial_count", [](Engine &self) { return self.initial().count(); })
        .def("sample_initial", &Engine::sample_initial, nb::arg("random"),
             nb::arg("tries") = InitialStates::REJECTION_TRIES)
        .def(
            "all_initial",
            [](Engine &self, std::uint64_t max_steps) {
                return self.all_initial(max_steps, [] {
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                    return true;
                });
            },
            nb::arg("max_steps"), "All start states, each once; None if that takes more steps.");
}

void define_space(nb::module_ &module) {
    nb::class_<Space>(module, "JaniSpace", "All states that can be reached, in breadth-first order.")
        .def(
            "__init__",
            [](Space *self, std::shared_ptr<const jani::Task> task, nb::object roots, bool raw,
               std::optional<double> seconds, std::optional<std::size_t> bytes, std::optional<std::uint64_t> states,
               std::optional<std::uint64_t> outcomes, nb::object progress) {
                std::vector<std::vector<Word>> values;
                if (!roots.is_none())
                    for (nb::handle root : roots) values.push_back(to_words(*task->model, root));
                const Limits limits = make_limits(seconds, bytes, states, outcomes, progress);
                nb::gil_scoped_release unlock;
                new (self) Space(std::move(task), values, limits, raw);
            },
            nb::arg("task"), nb::arg("roots") = nb::none(), nb::kw_only(), nb::arg("raw") = false,
            nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(), nb::arg("states") = nb::none(),
            nb::arg("outcomes") = nb::none(), nb::arg("progress") = nb::none())
        .def_prop_ro("complete", &Space::complete)
        .def_prop_ro("limit", [](const Space &self) { return name(self.limit()); })
        .def("__len__", &Space::size)
        .def_prop_ro("root_count", &Space::root_count, "The roots are the first states.")
        .def_prop_ro("outcome_count", &Space::outcome_count)
        .def_prop_ro("bytes", &Space::bytes)
        .def_prop_ro(
            "kinds", [](const Space &self) { return to_numpy(std::vector(self.kinds())); },
            "0: none of these, 1: unsafe, 2: goal, 3: dead end.")
        .def_prop_ro("label_offsets", [](const Space &self) { return to_numpy(std::vector(self.label_offsets())); })
        .def_prop_ro("labels", [](const Space &self) { return to_numpy(std::vector(self.labels())); })
        .def_prop_ro("outcome_offsets", [](const Space &self) { return to_numpy(std::vector(self.outcome_offsets())); })
        .def_prop_ro("outcomes", [](const Space &self) { return to_numpy(std::vector(self.outcomes())); })
        .def_prop_ro(
            "parents", [](const Space &self) { return to_numpy(std::vector(self.parents())); }, "2^32 - 1 for roots.")
        .def_prop_ro("parent_labels", [](const Space &self) { return to_numpy(std::vector(self.parent_labels())); })
        .def("state", [](Space &self, StateId s) {
            if (s >= self.size()) throw nb::index_error("no such state");
            std::vector<Word> values(self.engine().model().slots().size());
            self.values(s, values.data());
            return to_state(self.engine().model(), values.data());
        });
}

}  // namespace

void define_jani(nb::module_ &module) {
    nb::register_exception_translator([](const std::exception_ptr &pointer, void *) {
        try {
            std::rethrow_exception(pointer);
        } catch (const ModelError &error) {
            const auto optional = [](const std::string &text) -> nb::object {
                return text.empty() ? nb::none() : nb::object(nb::str(text.c_str()));
            };
            nb::dict fields;
            fields["where"] = optional(error.where);
            fields["expected"] = optional(error.expected);
            fields["hint"] = optional(error.hint);
            nb::object raised =
                nb::module_::import_("misstep.errors")
                    .attr(error.unsupported ? "UnsupportedError" : "InputFormatError")(error.what(), **fields);
            PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(raised.ptr())), raised.ptr());
        }
    });
    nb::class_<jani::Task>(module, "JaniCore", "A compiled model with its property. Never changes.")
        .def_prop_ro("labels", [](const jani::Task &self) { return self.model->labels(); })
        .def_prop_ro(
            "variables",
            [](const jani::Task &self) {
                nb::list result;
                for (const Slot &slot : self.model->slots()) {
                    const bool real = slot.type == Type::real;
                    const nb::object low =
                        real ? nb::object(nb::float_(slot.range.real_low)) : nb::object(nb::int_(slot.range.low));
                    const nb::object high =
                        real ? nb::object(nb::float_(slot.range.real_high)) : nb::object(nb::int_(slot.range.high));
                    result.append(nb::make_tuple(slot.name, name(slot.type), slot.bounded ? low : nb::none(),
                                                 slot.bounded ? high : nb::none()));
                }
                return result;
            },
            "Name, type, lower and upper bound of each variable of a state.")
        .def_prop_ro("packed_bytes",
                     [](const jani::Task &self) { return self.model->layout().words() * sizeof(std::uint64_t); })
        .def_prop_ro("nonlinear_atoms", [](const jani::Task &self) { return self.distance.nonlinear_atoms(); })
        .def_prop_ro("opaque_atoms", [](const jani::Task &self) { return self.distance.opaque_atoms(); });
    define_builder(module);
    define_engine(module);
    define_space(module);
}

}  // namespace misstep::bindings
