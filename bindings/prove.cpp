#include "jani.h"
#include "safety.h"
#include "safety/closure.h"
#include "safety/sparing_proof.h"

namespace misstep::bindings {

namespace {

using safety::Closure;
using safety::LabelId;
using safety::SparingProof;
using safety::System;

using Ids = nb::ndarray<const StateId, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Rows of values, one for each state: integers and Booleans as they are, real numbers as the bits of a double.
nb::object rows(const jani::Engine &engine, const Ids &ids) {
    const std::vector<std::size_t> shape{ids.shape(0), engine.model().slots().size()};
    std::vector<jani::Word> result(shape[0] * shape[1]);
    for (std::size_t i = 0; i < shape[0]; ++i)
        engine.values(checked(engine, ids.data()[i]), result.data() + i * shape[1]);
    return to_numpy(std::move(result), shape);
}

void define_closure(nb::module_ &module) {
    nb::class_<Closure>(module, "SafetyClosure", "All states that the policy can reach from some starts.")
        .def(nb::init<System &>(), nb::arg("system"), nb::keep_alive<1, 2>())
        .def("add_starts",
             [](Closure &self, const std::vector<StateId> &starts) {
                 if (self.explored() > 0) throw nb::value_error("the starts come too late");
                 self.add_starts(starts);
             })
        .def(
            "explore",
            [](Closure &self, bool stop, std::optional<double> seconds, std::optional<std::size_t> bytes,
               std::optional<std::uint64_t> expansions, std::optional<std::uint64_t> evaluations, nb::object progress) {
                return name(self.explore(make_limits(seconds, bytes, expansions, evaluations, progress), stop));
            },
            nb::arg("stop"), MISSTEP_LIMIT_ARGUMENTS, "Continues; returns the limit that ended it, or none.")
        .def("__len__", [](const Closure &self) { return self.states().size(); })
        .def_prop_ro("complete", &Closure::complete)
        .def_prop_ro("starts", &Closure::starts)
        .def_prop_ro("explored", &Closure::explored)
        .def_prop_ro("unsafe", &Closure::unsafe)
        .def_prop_ro("goals", &Closure::goals)
        .def_prop_ro("dead_ends", &Closure::dead_ends)
        .def_prop_ro("stops", &Closure::stops)
        .def_prop_ro("bytes", &Closure::bytes)
        .def_prop_ro("unsafe_run", &Closure::unsafe_run)
        .def("unsafe_starts",
             [](Closure &self) {
                 if (!self.complete()) throw nb::value_error("the closure is not complete");
                 return self.unsafe_starts();
             })
        .def("certificate", [](Closure &self) {
            return nb::make_tuple(to_numpy(std::vector<StateId>(self.states())), to_numpy(self.labels()));
        });
}

void define_sparing(nb::module_ &module) {
    static constexpr const char *ENDS[] = {"open", "safe", "unsafe"};
    nb::class_<SparingProof>(module, "SparingProof", "A proof that asks the policy only where it matters.")
        .def(
            "__init__",
            [](SparingProof *self, System &system, const std::vector<StateId> &starts) {
                new (self) SparingProof(system, starts);
            },
            nb::arg("system"), nb::arg("starts"), nb::keep_alive<1, 2>())
        .def(
            "run",
            [](SparingProof &self, std::optional<double> seconds, std::optional<std::size_t> bytes,
               std::optional<std::uint64_t> expansions, std::optional<std::uint64_t> evaluations, nb::object progress) {
                return name(self.run(make_limits(seconds, bytes, expansions, evaluations, progress)));
            },
            MISSTEP_LIMIT_ARGUMENTS, "Once; returns the limit that ended it, or none.")
        .def(
            "explore",
            [](SparingProof &self, std::optional<double> seconds, std::optional<std::size_t> bytes,
               std::optional<std::uint64_t> expansions, std::optional<std::uint64_t> evaluations, nb::object progress) {
                return name(self.explore(make_limits(seconds, bytes, expansions, evaluations, progress)));
            },
            MISSTEP_LIMIT_ARGUMENTS, "Instead of `run`, for `lost_certificate`.")
        .def("lost_certificate",
             [](SparingProof &self) {
                 std::vector<StateId> states;
                 std::vector<std::uint32_t> ranks;
                 self.lost_certificate(states, ranks);
                 return nb::make_tuple(to_numpy(std::move(states)), to_numpy(std::move(ranks)));
             })
        .def("__len__", &SparingProof::size)
        .def_prop_ro("end", [](const SparingProof &self) { return ENDS[static_cast<int>(self.end())]; })
        .def_prop_ro("starts", &SparingProof::starts)
        .def_prop_ro("asked", &SparingProof::asked)
        .def_prop_ro("bytes", &SparingProof::bytes)
        .def_prop_ro("unsafe_run", &SparingProof::unsafe_run)
        .def("certificate", [](SparingProof &self) {
            if (self.end() != SparingProof::End::safe) throw nb::value_error("nothing is proven");
            std::vector<StateId> states;
            std::vector<LabelId> labels;
            self.certificate(states, labels);
            return nb::make_tuple(to_numpy(std::move(states)), to_numpy(std::move(labels)));
        });
}

}  // namespace

void define_prove(nb::module_ &module) {
    define_closure(module);
    define_sparing(module);
    module.def("jani_rows", &rows, nb::arg("engine"), nb::arg("ids"),
               "The values of many states as whole numbers, a row each; a real number as its bits.");
}

}  // namespace misstep::bindings
