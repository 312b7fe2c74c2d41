#pragma once

#include "bindings.h"
#include "bounds/bound_store.h"
#include "policygraph/policy_graph.h"

namespace misstep::bindings {

struct BoundStoreHandle : Owned, BoundStore {
    explicit BoundStoreHandle(TaskHandle &task) : Owned(task), BoundStore(task.generator) {}

    StateId find(const State &state) const {
        handle.check(state);
        return transitions().find(state.values().data());
    }
    StateId intern(const State &state) {
        handle.check(state);
        return add(state.values().data());
    }
};

struct PolicyGraphHandle : Owned, PolicyGraph {
    explicit PolicyGraphHandle(TaskHandle &task) : Owned(task), PolicyGraph(task.generator) {}

    void check_id(StateId id) const {
        if (id >= size()) throw nb::index_error("the policy graph has no such state");
    }
};

using Ids = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::vector<StateId> checked_ids(const PolicyGraphHandle &graph, const Ids &ids) {
    std::vector<StateId> result(ids.data(), ids.data() + ids.shape(0));
    for (StateId id : result) graph.check_id(id);
    return result;
}

}  // namespace misstep::bindings
