#include "jani/edge_index.h"

#include <algorithm>
#include <map>

namespace misstep::jani {

namespace {

constexpr std::size_t MAX_DEPTH = 6;
constexpr std::size_t SMALL = 2;             // so few edges need no look-up
constexpr std::uint64_t MAX_VALUES = 4096;   // of a slot, for a table
constexpr double MIN_GAIN = 0.8;             // the largest share of edges that a look-up may leave

const Key *key_on(const std::vector<Key> &keys, SlotId slot) {
    for (const Key &key : keys)
        if (key.slot == slot) return &key;
    return nullptr;
}

}  // namespace

std::vector<Key> equalities(const Expressions &expressions, const std::vector<ExprId> &conjuncts) {
    std::vector<Key> result;
    const auto add = [&](ExprId variable, Word value) {
        const auto slot = static_cast<SlotId>(expressions[variable].word);
        const Range &range = expressions.slots()[slot].range;
        if (value >= range.low && value <= range.high && key_on(result, slot) == nullptr)
            result.push_back({slot, value});
    };
    for (ExprId e : conjuncts) {
        const Expressions::Node &node = expressions[e];
        if (!node.total) break;
        const auto is_variable = [&](ExprId x) {
            return x != NO_EXPRESSION && expressions[x].op == Op::variable && expressions[x].type != Type::real;
        };
        const ExprId a = node.arguments[0], b = node.arguments[1];
        if (is_variable(e)) add(e, 1);
        else if (node.op == Op::negation && is_variable(a)) add(a, 0);
        else if (node.op == Op::equal && is_variable(a) && expressions.is_constant(b)) add(a, expressions[b].word);
        else if (node.op == Op::equal && is_variable(b) && expressions.is_constant(a)) add(b, expressions[a].word);
    }
    return result;
}

EdgeIndex::EdgeIndex(const Expressions &expressions, const std::vector<std::vector<Key>> &keys) {
    std::vector<std::uint32_t> edges(keys.size());
    for (std::uint32_t i = 0; i < edges.size(); ++i) edges[i] = i;
    std::vector<SlotId> used;
    build(expressions, keys, edges, used);
}

std::uint32_t EdgeIndex::leaf(const std::vector<std::uint32_t> &edges) {
    nodes_.push_back({LEAF, 0, static_cast<std::uint32_t>(entries_.size()), static_cast<std::uint32_t>(edges.size())});
    entries_.insert(entries_.end(), edges.begin(), edges.end());
    return static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::uint32_t EdgeIndex::build(const Expressions &expressions, const std::vector<std::vector<Key>> &keys,
                               const std::vector<std::uint32_t> &edges, std::vector<SlotId> &used) {
    const std::size_t budget = 64 * keys.size() + 4096;
    if (edges.size() <= SMALL || used.size() >= MAX_DEPTH || entries_.size() + children_.size() > budget)
        return leaf(edges);
    // For each slot and each of its values: how many edges require it.
    std::map<SlotId, std::map<Word, std::size_t>> asked;
    for (std::uint32_t edge : edges)
        for (const Key &key : keys[edge]) ++asked[key.slot][key.value];
    SlotId best = LEAF;
    double best_left = MIN_GAIN * static_cast<double>(edges.size());
    for (const auto &[slot, values] : asked) {
        const Range &range = expressions.slots()[slot].range;
        const std::uint64_t size = static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low);
        if (size >= MAX_VALUES || std::find(used.begin(), used.end(), slot) != used.end()) continue;
        std::size_t with = 0;
        for (const auto &[value, count] : values) with += count;
        const double left =
            static_cast<double>(edges.size() - with) + static_cast<double>(with) / static_cast<double>(size + 1);
        if (left < best_left) {
            best_left = left;
            best = slot;
        }
    }
    if (best == LEAF) return leaf(edges);
    const Range &range = expressions.slots()[best].range;
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    const auto begin = static_cast<std::uint32_t>(children_.size());
    const auto size = static_cast<std::uint32_t>(range.high - range.low + 1);
    nodes_.push_back({best, range.low, begin, size});
    children_.resize(begin + size);
    used.push_back(best);
    const auto child = [&](std::optional<Word> value) {
        std::vector<std::uint32_t> remaining;
        for (std::uint32_t edge : edges) {
            const Key *key = key_on(keys[edge], best);
            if (key == nullptr || (value && key->value == *value)) remaining.push_back(edge);
        }
        return build(expressions, keys, remaining, used);
    };
    const std::uint32_t other = child(std::nullopt);
    for (std::uint32_t i = 0; i < size; ++i) {
        const Word value = range.low + i;
        children_[begin + i] = asked[best].contains(value) ? child(value) : other;
    }
    used.pop_back();
    return node;
}

}  // namespace misstep::jani
