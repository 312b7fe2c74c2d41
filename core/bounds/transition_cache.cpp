#include "bounds/transition_cache.h"

#include <algorithm>
#include <stdexcept>

namespace misstep {

namespace {
constexpr const char *TOO_MANY = "more than 4 billion transitions";
constexpr std::size_t SINGLE_BYTES = 96;  // about what an entry of the table and a short list take
}  // namespace

TransitionCache::TransitionCache(const SuccessorGenerator &generator)
    : generator_(generator), registry_(generator.packer().words()) {}

StateId TransitionCache::intern(const std::uint64_t *state, std::uint64_t hash) {
    const auto [id, is_new] = registry_.insert(state, hash);
    if (is_new) {
        Node node;
        node.is_goal = generator_.is_goal(state);
        nodes_.push_back(node);
        open_count_ += !node.is_goal;
    }
    return id;
}

StateId TransitionCache::add(const int *values) {
    packed_.resize(std::max<std::size_t>(packed_.size(), registry_.words()));
    generator_.packer().pack(values, packed_.data());
    return intern(packed_.data(), registry_.hash(packed_.data()));
}

StateId TransitionCache::find(const int *values) const {
    std::vector<std::uint64_t> packed(registry_.words());
    generator_.packer().pack(values, packed.data());
    return registry_.find(packed.data());
}

void TransitionCache::expand(StateId id) {
    const std::uint64_t *state = registry_[id];
    const std::size_t words = registry_.words();
    operators_.clear();
    generator_.for_each_applicable(PackedValues{generator_.packer(), state},
                                   [&](OperatorId op) { operators_.push_back(op); });
    std::sort(operators_.begin(), operators_.end());
    const std::size_t count = operators_.size();
    if (transitions_.size() + count >= NO_TRANSITION) throw std::length_error(TOO_MANY);

    // All successors are built, hashed and prefetched before the first look-up, so that the cache misses overlap.
    if (packed_.size() < count * words) packed_.resize(2 * count * words);
    hashes_.resize(count);
    std::uint64_t *successor = packed_.data();
    for (std::size_t i = 0; i < count; ++i, successor += words) {
        generator_.apply(operators_[i], state, successor);
        hashes_[i] = registry_.hash(successor);
        registry_.prefetch(hashes_[i]);
    }
    const TransitionId first = transition_count();
    successor = packed_.data();
    for (std::size_t i = 0; i < count; ++i, successor += words) append(id, operators_[i], successor, hashes_[i]);
    nodes_[id].first = first;
    nodes_[id].count = static_cast<std::uint32_t>(count);
    open_count_ -= !nodes_[id].is_goal;
    single_.erase(id);  // the transitions stay in the array as duplicates, which change no bound
}

StateId TransitionCache::append(StateId source, OperatorId op, const std::uint64_t *successor, std::uint64_t hash) {
    const StateId target = intern(successor, hash);
    const TransitionId transition = transition_count();
    transitions_.push_back({op, target, source, nodes_[target].last_incoming});
    nodes_[target].last_incoming = transition;
    return target;
}

StateId TransitionCache::add_transition(StateId source, OperatorId op) {
    if (is_expanded(source)) {
        const auto known = successors(source);
        return std::lower_bound(known.begin(), known.end(), op,
                                [](const Transition &t, OperatorId o) { return t.op < o; })
            ->target;
    }
    for (TransitionId t : single_[source])
        if (transitions_[t].op == op) return transitions_[t].target;
    if (transitions_.size() + 1 >= NO_TRANSITION) throw std::length_error(TOO_MANY);
    packed_.resize(std::max<std::size_t>(packed_.size(), registry_.words()));
    generator_.apply(op, registry_[source], packed_.data());
    single_[source].push_back(transition_count());
    return append(source, op, packed_.data(), registry_.hash(packed_.data()));
}

std::size_t TransitionCache::bytes() const {
    return registry_.bytes() + nodes_.capacity() * sizeof(Node) + transitions_.capacity() * sizeof(Transition) +
           single_.size() * SINGLE_BYTES;
}

}  // namespace misstep
