#include <limits>
#include <vector>

#include "base/contradiction.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "bindings.h"
#include "fdr/sas_reader.h"

namespace misstep::bindings {

nb::object cost_to_python(Cost cost) {
    if (cost >= INFINITE_COST) return nb::float_(std::numeric_limits<double>::infinity());
    return nb::int_(cost);
}

nb::object costs_to_numpy(const std::vector<Cost> &costs) {
    std::vector<double> result;
    result.reserve(costs.size());
    for (Cost cost : costs)
        result.push_back(cost >= INFINITE_COST ? std::numeric_limits<double>::infinity() : static_cast<double>(cost));
    return to_numpy(std::move(result));
}

Limits make_limits(std::optional<double> seconds, std::optional<std::size_t> bytes,
                   std::optional<std::uint64_t> expansions, std::optional<std::uint64_t> evaluations,
                   nb::object progress) {
    Limits limits;
    if (seconds) limits.seconds = *seconds;
    if (bytes) limits.bytes = *bytes;
    if (expansions) limits.expansions = *expansions;
    if (evaluations) limits.evaluations = *evaluations;
    // The callback may be copied and destroyed without the interpreter lock, so it holds no reference of its own. The
    // caller's argument keeps the Python object alive.
    limits.poll = [callback = progress.ptr()](const Progress &now) {
        nb::gil_scoped_acquire lock;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        const nb::handle report(callback);
        if (!report.is_none()) report(now.expansions, now.evaluations, now.generated, now.bytes, now.seconds);
        return true;
    };
    return limits;
}

namespace {
// Lets Ctrl-C and alarms raise their exceptions. Threads that Python does not know return at once.
void poll_signals() {
    if (PyGILState_GetThisThreadState() == nullptr) return;
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}
}  // namespace

void define_base(nb::module_ &module) {
    set_interrupt_poll(poll_signals);
    nb::object errors = nb::module_::import_("misstep.errors");
    module.attr("InputFormatError") = errors.attr("InputFormatError");
    module.attr("UnsupportedError") = errors.attr("UnsupportedError");
    nb::register_exception_translator([](const std::exception_ptr &pointer, void *) {
        const auto raise = [](const char *type, const std::string &what, nb::dict fields) {
            nb::object error = nb::module_::import_("misstep.errors").attr(type)(what, **fields);
            PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
        };
        try {
            std::rethrow_exception(pointer);
        } catch (const SasError &error) {
            nb::dict fields;
            fields["where"] = "line " + std::to_string(error.line);
            fields["expected"] = error.expected;
            raise("InputFormatError", error.what(), fields);
        } catch (const Unsupported &error) {
            raise("UnsupportedError", error.what(), nb::dict());
        } catch (const Contradiction &error) {
            nb::dict fields;
            fields["hint"] =
                "compute saved dominance functions again; if that does not help, please report it with the task";
            raise("MisstepError", std::string("internal error: ") + error.what(), fields);
        }
    });

    nb::class_<CounterRandom>(module, "CounterRandom",
                              "Random numbers that are a function of (seed, stream, counter) alone.")
        .def(nb::init<std::uint64_t, std::uint64_t, std::uint64_t>(), nb::arg("seed"), nb::arg("stream") = 0,
             nb::arg("counter") = 0)
        .def("next", &CounterRandom::next, "64 random bits.")
        .def(
            "below",
            [](CounterRandom &self, std::uint64_t bound) {
                if (bound == 0) throw nb::value_error("below(0): there is no number below zero");
                return self.below(bound);
            },
            nb::arg("bound"), "Uniform in [0, bound).")
        .def("real", &CounterRandom::real, "Uniform in [0, 1).")
        .def_prop_ro("counter", &CounterRandom::counter);
}

}  // namespace misstep::bindings
