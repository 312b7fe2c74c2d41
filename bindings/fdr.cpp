#include <atomic>

#include "bindings.h"
#include "fdr/batch.h"
#include "fdr/naive.h"
#include "fdr/sas_reader.h"

namespace misstep::bindings {

namespace {

std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> serial{0};
    return ++serial;
}

nb::list facts_to_python(std::span<const Fact> facts) {
    nb::list result;
    for (const Fact &fact : facts) result.append(nb::make_tuple(fact.variable, fact.value));
    return result;
}

nb::list ids_to_python(const std::vector<OperatorId> &ids) {
    nb::list result;
    for (OperatorId id : ids) result.append(id);
    return result;
}

void check_operator(const Task &task, OperatorId op) {
    if (op < 0 || op >= task.operator_count())
        throw nb::index_error(("operator " + std::to_string(op) + " does not exist: the task has " +
                               std::to_string(task.operator_count()))
                                  .c_str());
}

std::string fact_text(const Task &task, Fact fact) { return task.variable(fact.variable).values[fact.value]; }

std::string why_inapplicable(const Task &task, OperatorId op, const int *values) {
    std::string text = "operator (" + task.operator_name(op) + ") does not apply:";
    const char *separator = " ";
    for (const Fact &fact : task.preconditions(op))
        if (values[fact.variable] != fact.value) {
            text += separator + std::string("it requires ") + fact_text(task, fact) + " where " +
                    fact_text(task, {fact.variable, values[fact.variable]}) + " holds";
            separator = "; ";
        }
    return text;
}

nb::list effects_to_python(const Task &task, OperatorId op) {
    nb::list result;
    for (int i = 0; i < task.effect_count(op); ++i) {
        const Effect effect = task.effect(op, i);
        result.append(nb::make_tuple(facts_to_python(effect.conditions), effect.fact.variable, effect.fact.value));
    }
    return result;
}

void define_state(nb::module_ &module) {
    nb::class_<State>(module, "State",
                      "A state: one value for each variable. A value type, independent of task and process.")
        .def(
            "__init__",
            [](State *self, const std::vector<int> &values) {
                for (int value : values)
                    if (value < 0) throw nb::value_error("a state is a list of non-negative numbers");
                new (self) State(values);
            },
            nb::arg("values"))
        .def("__getstate__", [](const State &self) { return self.values(); })
        .def("__setstate__", [](State &self, const std::vector<int> &values) { new (&self) State(values); })
        .def("__hash__", [](const State &self) { return static_cast<Py_ssize_t>(self.hash() >> 1); })
        .def(
            "__eq__", [](const State &a, const State &b) { return a == b; }, nb::is_operator())
        .def(
            "__lt__", [](const State &a, const State &b) { return a < b; }, nb::is_operator())
        .def(
            "__le__", [](const State &a, const State &b) { return a <= b; }, nb::is_operator())
        .def(
            "__gt__", [](const State &a, const State &b) { return a > b; }, nb::is_operator())
        .def(
            "__ge__", [](const State &a, const State &b) { return a >= b; }, nb::is_operator())
        .def("__len__", [](const State &self) { return self.values().size(); })
        .def("__getitem__",
             [](const State &self, Py_ssize_t i) {
                 const auto size = static_cast<Py_ssize_t>(self.values().size());
                 if (i < 0) i += size;
                 if (i < 0 || i >= size) throw nb::index_error("the state has no such variable");
                 return self.values()[i];
             })
        .def_prop_ro("values", [](const State &self) { return nb::tuple(nb::cast(self.values())); })
        .def("__str__", &State::text)
        .def("__repr__", [](const State &self) { return "State.parse('" + self.text() + "')"; })
        .def_static(
            "parse", [](std::string_view text) { return State::parse(text); }, nb::arg("text"),
            "Reads the text form back: values separated by blanks or commas.");
}

}  // namespace

TaskHandle::TaskHandle(Task parsed) : task(std::move(parsed)), generator(task), serial(next_serial()) {}

const PredecessorGenerator &TaskHandle::predecessors() {
    if (!predecessors_) predecessors_ = std::make_unique<PredecessorGenerator>(task);
    return *predecessors_;
}

std::shared_ptr<const RelaxedTask> TaskHandle::relaxed() {
    if (!relaxed_) relaxed_ = std::make_shared<const RelaxedTask>(task);
    return relaxed_;
}

void TaskHandle::check(const State &state) const {
    if (state.checked_for == serial) return;
    const std::vector<int> &values = state.values();
    if (values.size() != static_cast<std::size_t>(task.variable_count()))
        throw nb::value_error(("the state has " + std::to_string(values.size()) + " values, the task " +
                               std::to_string(task.variable_count()) + " variables")
                                  .c_str());
    const std::int64_t wrong = find_invalid_value(task, values.data(), 1);
    if (wrong >= 0)
        throw nb::value_error(("variable " + std::to_string(wrong) + " has no value " + std::to_string(values[wrong]) +
                               ": its domain has " + std::to_string(task.domain_sizes()[wrong]) + " values")
                                  .c_str());
    state.checked_for = serial;
}

void check_batch(const TaskHandle &handle, const StateBatch &states) {
    const auto width = static_cast<std::size_t>(handle.task.variable_count());
    if (states.shape(1) != width)
        throw nb::value_error(("the batch has " + std::to_string(states.shape(1)) + " columns, the task " +
                               std::to_string(width) + " variables")
                                  .c_str());
    const std::int64_t wrong = find_invalid_value(handle.task, states.data(), states.shape(0));
    if (wrong >= 0)
        throw nb::value_error(("row " + std::to_string(wrong / width) + ": variable " + std::to_string(wrong % width) +
                               " has no value " + std::to_string(states.data()[wrong]))
                                  .c_str());
}

void define_fdr(nb::module_ &module) {
    define_state(module);

    nb::class_<TaskHandle>(module, "Task", nb::is_weak_referenceable())
        .def(
            "__init__",
            [](TaskHandle *self, nb::bytes sas) {
                const std::string_view text(sas.c_str(), sas.size());
                nb::gil_scoped_release unlock;
                Task task = read_sas(text);
                task.refuse_axioms("Misstep");
                new (self) TaskHandle(std::move(task));
            },
            nb::arg("sas"))
        .def_prop_ro("variable_count", [](const TaskHandle &self) { return self.task.variable_count(); })
        .def_prop_ro("operator_count", [](const TaskHandle &self) { return self.task.operator_count(); })
        .def_prop_ro("domain_sizes",
                     [](const TaskHandle &self) {
                         return std::vector<int>(self.task.domain_sizes().begin(), self.task.domain_sizes().end());
                     })
        .def_prop_ro("has_conditional_effects",
                     [](const TaskHandle &self) { return self.task.has_conditional_effects(); })
        .def_prop_ro("metric", [](const TaskHandle &self) { return self.task.metric(); })
        .def_prop_ro("packed_bytes", [](const TaskHandle &self) { return self.generator.packer().words() * 8; })
        .def_prop_ro("initial_state",
                     [](const TaskHandle &self) {
                         const auto values = self.task.initial();
                         return State({values.begin(), values.end()});
                     })
        .def_prop_ro("goal", [](const TaskHandle &self) { return facts_to_python(self.task.goal()); })
        .def_prop_ro("mutex_groups",
                     [](const TaskHandle &self) {
                         nb::list result;
                         for (const std::vector<Fact> &group : self.task.mutex_groups())
                             result.append(facts_to_python(group));
                         return result;
                     })
        .def("value_names",
             [](const TaskHandle &self, int v) {
                 if (v < 0 || v >= self.task.variable_count()) throw nb::index_error("no such variable");
                 return self.task.variable(v).values;
             })
        .def("operator_name",
             [](const TaskHandle &self, OperatorId op) {
                 check_operator(self.task, op);
                 return self.task.operator_name(op);
             })
        .def("cost",
             [](const TaskHandle &self, OperatorId op) {
                 check_operator(self.task, op);
                 return self.task.cost(op);
             })
        .def("preconditions",
             [](const TaskHandle &self, OperatorId op) {
                 check_operator(self.task, op);
                 return facts_to_python(self.task.preconditions(op));
             })
        .def(
            "effects",
            [](const TaskHandle &self, OperatorId op) {
                check_operator(self.task, op);
                return effects_to_python(self.task, op);
            },
            "Triples (conditions, variable, new value), in the order of the file.")

        .def("is_goal",
             [](const TaskHandle &self, const State &state) {
                 self.check(state);
                 return self.task.is_goal(state.values().data());
             })
        .def(
            "applicable",
            [](const TaskHandle &self, const State &state) {
                self.check(state);
                thread_local std::vector<OperatorId> ids;
                self.generator.applicable(state.values().data(), ids);
                return ids_to_python(ids);
            },
            "Ids of the applicable operators, in increasing order.")
        .def(
            "applicable_naive",
            [](const TaskHandle &self, const State &state) {
                self.check(state);
                return ids_to_python(naive::applicable(self.task, state.values().data()));
            },
            "The same by trying every operator; for tests.")
        .def(
            "apply",
            [](const TaskHandle &self, const State &state, OperatorId op) {
                self.check(state);
                check_operator(self.task, op);
                const int *values = state.values().data();
                if (!self.task.applicable(op, values))
                    throw nb::value_error(why_inapplicable(self.task, op, values).c_str());
                State successor(state);
                self.task.apply(op, values, const_cast<int *>(successor.values().data()));
                return successor;
            },
            "The successor state; ValueError naming the violated preconditions if the operator does not apply.")
        .def(
            "predecessors",
            [](TaskHandle &self, const State &state) {
                self.check(state);
                std::vector<OperatorId> ids;
                const int *values = state.values().data();
                self.predecessors().operators(values, ids);
                nb::list result;
                for (OperatorId op : ids)
                    self.predecessors().for_each_predecessor(op, values, [&](const int *found) {
                        result.append(nb::make_tuple(op, State({found, found + self.task.variable_count()})));
                    });
                return result;
            },
            "All pairs (operator, state) that lead to the state in one step; the states need not be reachable.")

        .def("check_batch", &check_batch)
        .def("applicable_batch",
             [](const TaskHandle &self, const StateBatch &states) {
                 check_batch(self, states);
                 std::vector<std::int64_t> offsets;
                 std::vector<OperatorId> operators;
                 {
                     nb::gil_scoped_release unlock;
                     applicable_batch(self.generator, states.data(), states.shape(0), offsets, operators);
                 }
                 return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(operators)));
             })
        .def("apply_batch",
             [](const TaskHandle &self, const StateBatch &states, const OperatorBatch &operators) {
                 check_batch(self, states);
                 if (operators.shape(0) != states.shape(0))
                     throw nb::value_error("as many operators as states are needed");
                 std::vector<std::int32_t> result(states.size());
                 std::int64_t wrong = -1;
                 {
                     nb::gil_scoped_release unlock;
                     wrong = apply_batch(self.task, states.data(), operators.data(), states.shape(0), result.data());
                 }
                 if (wrong >= 0) {
                     const OperatorId op = operators.data()[wrong];
                     check_operator(self.task, op);
                     throw nb::value_error(("row " + std::to_string(wrong) + ": " +
                                            why_inapplicable(self.task, op, states.data() + wrong * states.shape(1)))
                                               .c_str());
                 }
                 const std::vector<std::size_t> shape{states.shape(0), states.shape(1)};
                 return to_numpy(std::move(result), shape);
             })
        .def("is_goal_batch", [](const TaskHandle &self, const StateBatch &states) {
            check_batch(self, states);
            auto *result = new bool[states.shape(0)];
            nb::capsule owner(result, [](void *p) noexcept { delete[] static_cast<bool *>(p); });
            is_goal_batch(self.task, states.data(), states.shape(0), result);
            return nb::cast(nb::ndarray<nb::numpy, bool, nb::ndim<1>>(result, {states.shape(0)}, owner));
        });
}

}  // namespace misstep::bindings
