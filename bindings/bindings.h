#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "base/limits.h"
#include "fdr/predecessors.h"
#include "fdr/state.h"
#include "fdr/successors.h"
#include "fdr/task.h"
#include "heuristics/heuristic.h"
#include "heuristics/relaxed_task.h"
#include "policygraph/policy.h"

namespace nb = nanobind;

namespace misstep::bindings {

// A task together with its successor generator and other parts that callers share, built once.
struct TaskHandle {
    explicit TaskHandle(Task parsed);
    Task task;
    SuccessorGenerator generator;
    std::uint64_t serial;  // see State::checked_for

    // Built on first use.
    const PredecessorGenerator &predecessors();
    std::shared_ptr<const RelaxedTask> relaxed();

    void check(const State &state) const;  // throws ValueError if the state is not one of this task

   private:
    std::unique_ptr<PredecessorGenerator> predecessors_;
    std::shared_ptr<const RelaxedTask> relaxed_;
};

// The base class of objects that belong to a task and work only with that task.
struct Owned {
    explicit Owned(TaskHandle &owner) : handle(owner) {}
    virtual ~Owned() = default;
    TaskHandle &handle;
};

// A native policy with its task, which must outlive it.
struct PolicyHandle : Owned {
    PolicyHandle(TaskHandle &task, std::shared_ptr<NativePolicy> native) : Owned(task), native(std::move(native)) {}
    std::shared_ptr<NativePolicy> native;
};

// Throws ValueError if the heuristic is not null and belongs to another task.
void check_same_task(const TaskHandle &task, Heuristic *heuristic);

// A step limit for the core. None is the largest number that its counters hold.
std::uint32_t steps_of(std::optional<std::uint32_t> max_steps);

using StateBatch = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OperatorBatch = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::vector<int> to_vector(const Integers &array) { return {array.data(), array.data() + array.size()}; }

// Throws ValueError if the batch has the wrong width or a value outside its domain.
void check_batch(const TaskHandle &task, const StateBatch &states);

// Makes a numpy array that owns the vector's memory, without copying.
template <class T, class Shape>
nb::object to_numpy(std::vector<T> &&data, const Shape &shape) {
    auto *owner = new std::vector<T>(std::move(data));
    nb::capsule capsule(owner, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owner->data(), shape.size(), shape.data(), capsule));
}
template <class T>
nb::object to_numpy(std::vector<T> &&data) {
    const std::vector<std::size_t> shape{data.size()};
    return to_numpy(std::move(data), shape);
}

// An integer, or float infinity for INFINITE_COST.
nb::object cost_to_python(Cost cost);
// The same as doubles. Costs of real plans are far below 2^53, so the conversion is exact.
nb::object costs_to_numpy(const std::vector<Cost> &costs);

// The arguments of make_limits, which most long-running functions take.
#define MISSTEP_LIMIT_ARGUMENTS                                                                                        \
    nb::kw_only(), nb::arg("seconds") = nb::none(), nb::arg("bytes") = nb::none(), nb::arg("expansions") = nb::none(), \
                   nb::arg("evaluations") = nb::none(), nb::arg("progress") = nb::none()

// Limits whose poll callback raises KeyboardInterrupt after Ctrl-C and reports progress. The search itself runs without
// the interpreter lock.
Limits make_limits(std::optional<double> seconds, std::optional<std::size_t> bytes,
                   std::optional<std::uint64_t> expansions, std::optional<std::uint64_t> evaluations,
                   nb::object progress);

void define_base(nb::module_ &module);
void define_rows(nb::module_ &module);
void define_fdr(nb::module_ &module);
void define_state_space(nb::module_ &module);
void define_heuristics(nb::module_ &module);
void define_search(nb::module_ &module);
void define_bounds(nb::module_ &module);
void define_improve(nb::module_ &module);
void define_policygraph(nb::module_ &module);
void define_permitted(nb::module_ &module);
void define_repair(nb::module_ &module);
void define_oracles(nb::module_ &module);
void define_nets(nb::module_ &module);
void define_asnets(nb::module_ &module);
void define_sketches(nb::module_ &module);
void define_wl(nb::module_ &module);
void define_fuzzing(nb::module_ &module);
void define_dominance(nb::module_ &module);
void define_jani(nb::module_ &module);
void define_safety(nb::module_ &module);
void define_safety_systems(nb::module_ &module);
void define_janisafety(nb::module_ &module);
void define_prove(nb::module_ &module);
void define_risk(nb::module_ &module);

}  // namespace misstep::bindings
