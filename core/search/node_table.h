#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/registry.h"
#include "fdr/successors.h"
#include "search/result.h"

namespace misstep {

// Thrown by a visit to leave an expansion when a limit is reached.
struct InTheMiddle {
    Limit limit;
};

// The limits that may end an expansion in the middle: all but the numbers of expansions and evaluations.
inline Limits clock_only(Limits limits) {
    limits.expansions = limits.evaluations = std::numeric_limits<std::uint64_t>::max();
    return limits;
}

// What every best-first search keeps for a state: the cheapest known path to it.
struct Node {
    Cost g;
    StateId parent;
    OperatorId op;
};

// The states of one search with their nodes, and expansion: all successors of a state are built, hashed and
// prefetched before the first is looked up, so that the cache misses of the look-ups overlap.
class NodeTable {
   public:
    explicit NodeTable(const SuccessorGenerator &generator)
        : generator_(generator), registry_(generator.packer().words()) {}

    StateId add_root(const int *values) {
        std::vector<std::uint64_t> packed(registry_.words());
        generator_.packer().pack(values, packed.data());
        const auto [id, is_new] = registry_.insert(packed.data());
        if (is_new) nodes_.push_back({0, NO_STATE, NO_OPERATOR});
        return id;
    }

    // Calls visit(successor id, is new, operator) for every applicable operator. A new state has its node not yet set.
    template <class Visit>
    void expand(StateId id, Visit &&visit) {
        expand_with(
            id,
            [&](auto &&emit) {
                generator_.for_each_applicable(PackedValues{generator_.packer(), registry_[id]}, emit);
            },
            visit);
    }
    // The same for the given operators, which must apply.
    template <class Visit>
    void expand(StateId id, std::span<const OperatorId> operators, Visit &&visit) {
        expand_with(
            id,
            [&](auto &&emit) {
                for (OperatorId op : operators) emit(op);
            },
            visit);
    }

    Node &operator[](StateId id) { return nodes_[id]; }
    const Node &operator[](StateId id) const { return nodes_[id]; }
    StateId size() const { return registry_.size(); }
    bool is_goal(StateId id) const { return generator_.is_goal(registry_[id]); }
    bool equal(StateId id, const std::uint64_t *packed) const {
        return std::equal(packed, packed + registry_.words(), registry_[id]);
    }
    void values(StateId id, int *result) const { generator_.packer().unpack(registry_[id], result); }
    const Task &task() const { return generator_.task(); }

    std::vector<OperatorId> plan_to(StateId id) const {
        std::vector<OperatorId> plan;
        for (; nodes_[id].parent != NO_STATE; id = nodes_[id].parent) plan.push_back(nodes_[id].op);
        std::reverse(plan.begin(), plan.end());
        return plan;
    }
    // How a best-first search ended. The lower bound on plans that it did not find is set by the search itself.
    SearchResult result(Status status, Limit limit, const Progress &progress, StateId goal) const {
        SearchResult result;
        result.status = status;
        result.limit = limit;
        result.progress = progress;
        result.registered = size();
        if (status == Status::plan) {
            result.plan = plan_to(goal);
            result.cost = nodes_[goal].g;
        }
        return result;
    }
    void clear() {
        registry_.clear();
        nodes_.clear();
    }
    std::size_t bytes() const { return registry_.bytes() + nodes_.capacity() * sizeof(Node); }

   private:
    template <class Operators, class Visit>
    void expand_with(StateId id, Operators &&operators, Visit &&visit) {
        const std::uint64_t *state = registry_[id];
        const std::size_t words = registry_.words();
        pending_.clear();
        std::size_t used = 0;
        operators([&](OperatorId op) {
            if (buffer_.size() < used + words) buffer_.resize(2 * used + 16 * words);
            std::uint64_t *successor = buffer_.data() + used;
            generator_.apply(op, state, successor);
            const std::uint64_t hash = registry_.hash(successor);
            registry_.prefetch(hash);
            pending_.push_back({hash, op});
            used += words;
        });
        const std::uint64_t *successor = buffer_.data();
        for (std::size_t i = 0; i < pending_.size(); ++i, successor += words) {
            const auto [target, is_new] = registry_.insert(successor, pending_[i].hash);
            if (is_new) nodes_.emplace_back();
            visit(target, is_new, pending_[i].op);
        }
    }

    struct Pending {
        std::uint64_t hash;
        OperatorId op;
    };
    const SuccessorGenerator &generator_;
    StateRegistry registry_;
    std::vector<Node> nodes_;
    std::vector<std::uint64_t> buffer_;
    std::vector<Pending> pending_;
};

}  // namespace misstep
