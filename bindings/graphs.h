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

template <class Graph>
std::vector<StateId> checked_ids(const Graph &graph, const Ids &ids) {
    std::vector<StateId> result(ids.data(), ids.data() + ids.shape(0));
    for (StateId id : result) graph.check_id(id);
    return result;
}

// Functions that every graph over states has: from states to ids, and from ids to states.
template <class Graph>
nb::object add_states(Graph &graph, const StateBatch &states) {
    check_batch(graph.handle, states);
    std::vector<StateId> ids;
    ids.reserve(states.shape(0));
    for (std::size_t i = 0; i < states.shape(0); ++i) ids.push_back(graph.add(states.data() + i * states.shape(1)));
    return to_numpy(std::move(ids));
}
template <class Graph>
nb::object states_of(const Graph &graph, const Ids &ids) {
    const std::size_t width = graph.task().variable_count();
    const std::vector<StateId> checked = checked_ids(graph, ids);
    std::vector<std::int32_t> values(checked.size() * width);
    for (std::size_t i = 0; i < checked.size(); ++i) graph.values(checked[i], values.data() + i * width);
    const std::vector<std::size_t> shape{checked.size(), width};
    return to_numpy(std::move(values), shape);
}

}  // namespace misstep::bindings
