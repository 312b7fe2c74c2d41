#include "bindings.h"
#include "sketches/sketch.h"

namespace misstep::bindings {

namespace {

using Table = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The rows of a table as structures of the program.
template <class T, class Make>
std::vector<T> rows_of(const Table &table, std::size_t width, Make &&make) {
    if (table.shape(1) != width) throw nb::value_error("a table of another width");
    std::vector<T> rows;
    rows.reserve(table.shape(0));
    for (std::size_t i = 0; i < table.shape(0); ++i) rows.push_back(make(table.data() + i * width));
    return rows;
}

template <class Code>
Code code_of(int number, Code last) {
    if (number < 0 || number > static_cast<int>(last)) throw nb::value_error("a code that is none");
    return static_cast<Code>(number);
}

using P = SketchProgram;

SketchProgram make_program(int objects, const std::vector<bool> &pairs, const Table &always, const Table &sometimes,
                           const Table &steps, const Table &features, int rules, const Table &conditions,
                           const Table &effects) {
    SketchProgram program;
    program.objects = objects;
    for (bool pair : pairs) program.sets.push_back(pair ? P::SetKind::pairs : P::SetKind::objects);
    program.always = rows_of<P::Member>(always, 3, [](const int *r) { return P::Member{r[0], r[1], r[2]}; });
    program.sometimes = rows_of<P::FactMember>(
        sometimes, 5, [](const int *r) { return P::FactMember{{r[0], r[1]}, {r[2], r[3], r[4]}}; });
    program.steps = rows_of<P::Step>(
        steps, 4, [](const int *r) { return P::Step{code_of(r[0], P::StepCode::restrict_to), r[1], r[2], r[3]}; });
    program.features = rows_of<P::Feature>(features, 4, [](const int *r) {
        return P::Feature{code_of(r[0], P::FeatureCode::distance), r[1], r[2], r[3]};
    });
    if (rules < 0) throw nb::value_error("a number of rules below 0");
    program.rules.resize(rules);
    const auto add = [&](const Table &table, std::vector<P::Literal> P::Rule::*part) {
        rows_of<int>(table, 3, [&](const int *r) {
            if (r[0] < 0 || r[0] >= rules) throw nb::value_error("a rule that is not there");
            (program.rules[r[0]].*part).push_back({code_of(r[1], P::Test::unchanged), r[2]});
            return 0;
        });
    };
    add(conditions, &P::Rule::conditions);
    add(effects, &P::Rule::effects);
    return program;
}

Sketch::Choice choice_of(std::string_view name) {
    if (name == "first") return Sketch::Choice::first;
    if (name == "last") return Sketch::Choice::last;
    if (name == "hash") return Sketch::Choice::hash;
    throw nb::value_error("a choice is first, last or hash");
}

// A sketch with the task it belongs to, which must outlive it.
struct BoundSketch : Sketch, Owned {
    BoundSketch(TaskHandle &owner, const SketchProgram &program, Choice choice)
        : Sketch(program, owner.task, choice), Owned(owner) {}
};

nb::tuple permitted(BoundSketch &self, const StateBatch &states) {
    check_batch(self.handle, states);
    std::vector<std::int64_t> offsets{0};
    std::vector<OperatorId> applicable, operators;
    for (std::size_t i = 0; i < states.shape(0); ++i) {
        const std::int32_t *row = states.data() + i * states.shape(1);
        self.handle.generator.applicable(row, applicable);
        self.permitted(row, applicable, operators);
        offsets.push_back(static_cast<std::int64_t>(operators.size()));
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(operators)));
}

nb::object features(BoundSketch &self, const StateBatch &states) {
    check_batch(self.handle, states);
    std::vector<std::int32_t> values;
    for (std::size_t i = 0; i < states.shape(0); ++i) {
        const std::int32_t *row = self.Sketch::features(states.data() + i * states.shape(1));
        values.insert(values.end(), row, row + self.feature_count());
    }
    const std::vector<std::size_t> shape{states.shape(0), static_cast<std::size_t>(self.feature_count())};
    return to_numpy(std::move(values), shape);
}

}  // namespace

void define_sketches(nb::module_ &module) {
    nb::class_<BoundSketch>(module, "Sketch", "A sketch of width 0 on a task. One object per thread.")
        .def(
            "__init__",
            [](BoundSketch *self, TaskHandle &task, int objects, const std::vector<bool> &pairs, const Table &always,
               const Table &sometimes, const Table &steps, const Table &features, int rules, const Table &conditions,
               const Table &effects, std::string_view choose) {
                const SketchProgram program =
                    make_program(objects, pairs, always, sometimes, steps, features, rules, conditions, effects);
                new (self) BoundSketch(task, program, choice_of(choose));
            },
            nb::arg("task"), nb::kw_only(), nb::arg("objects"), nb::arg("pairs"), nb::arg("always"),
            nb::arg("sometimes"), nb::arg("steps"), nb::arg("features"), nb::arg("rules"), nb::arg("conditions"),
            nb::arg("effects"), nb::arg("choose"), nb::keep_alive<1, 2>())
        .def(
            "policy",
            [](BoundSketch &self) {
                // The Python object owns the sketch; the policy keeps that object alive.
                return new PolicyHandle(self.handle, std::shared_ptr<NativePolicy>(&self, [](NativePolicy *) {}));
            },
            nb::keep_alive<0, 1>(), "The sketch with its way to choose.")
        .def("permitted", &permitted, nb::arg("states"), "Permitted operators of each state: offsets and operators.")
        .def("features", &features, nb::arg("states"), "The features of each state; 2**31 - 1 is infinite.");
}

}  // namespace misstep::bindings
