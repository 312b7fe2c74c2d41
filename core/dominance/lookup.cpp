#include "dominance/lookup.h"

#include <algorithm>

namespace misstep::dominance {

Lookup Lookup::leaf(int variable, int domain_size) {
    Lookup result;
    std::vector<int> table(domain_size);
    for (int value = 0; value < domain_size; ++value) table[value] = value;
    result.nodes_.push_back({variable, -1, -1, 0, std::move(table)});
    return result;
}

Lookup Lookup::product(const Lookup &left, const Lookup &right, int right_size) {
    Lookup result;
    result.nodes_ = left.nodes_;
    const int shift = static_cast<int>(left.nodes_.size());
    for (Node node : right.nodes_) {
        if (node.variable < 0) {
            node.left += shift;
            node.right += shift;
        }
        result.nodes_.push_back(std::move(node));
    }
    int left_size = 0;
    for (int id : left.nodes_.back().table) left_size = std::max(left_size, id + 1);
    std::vector<int> table(static_cast<std::size_t>(left_size) * right_size);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int>(i);
    result.nodes_.push_back({-1, left.root(), shift + right.root(), right_size, std::move(table)});
    return result;
}

void Lookup::rename(std::span<const int> renamed) {
    for (int &id : nodes_.back().table)
        if (id != PRUNED) id = renamed[id];
    flat_.clear();
}

int Lookup::evaluate(int index, const int *values) const {
    const Node &node = nodes_[index];
    if (node.variable >= 0) return node.table[values[node.variable]];
    const int left = evaluate(node.left, values);
    if (left == PRUNED) return PRUNED;
    const int right = evaluate(node.right, values);
    if (right == PRUNED) return PRUNED;
    return node.table[static_cast<std::size_t>(left) * node.right_size + right];
}

void Lookup::flatten(std::span<const int> domain_sizes, std::size_t max_entries) {
    std::vector<int> variables;
    for (const Node &node : nodes_)
        if (node.variable >= 0) variables.push_back(node.variable);
    std::size_t entries = 1;
    std::vector<std::pair<int, std::size_t>> radix;
    for (int variable : variables) {
        radix.emplace_back(variable, entries);
        if (entries > max_entries / domain_sizes[variable]) return;
        entries *= domain_sizes[variable];
    }
    std::vector<int> values(domain_sizes.size());
    std::vector<int> flat(entries);
    for (std::size_t position = 0; position < entries; ++position) {
        std::size_t rest = position;
        for (int variable : variables) {
            values[variable] = static_cast<int>(rest % domain_sizes[variable]);
            rest /= domain_sizes[variable];
        }
        flat[position] = evaluate(root(), values.data());
    }
    radix_ = std::move(radix);
    flat_ = std::move(flat);
}

std::vector<std::vector<Fact>> Lookup::representatives(int size) const { return representatives_of(root(), size); }

std::vector<std::vector<Fact>> Lookup::representatives_of(int index, int size) const {
    const Node &node = nodes_[index];
    std::vector<std::vector<Fact>> result(size);
    if (node.variable >= 0) {
        for (int value = static_cast<int>(node.table.size()) - 1; value >= 0; --value)
            if (node.table[value] != PRUNED) result[node.table[value]] = {{node.variable, value}};
        return result;
    }
    const int left_size = static_cast<int>(node.table.size()) / node.right_size;
    const auto left = representatives_of(node.left, left_size);
    const auto right = representatives_of(node.right, node.right_size);
    for (int a = left_size - 1; a >= 0; --a)
        for (int b = node.right_size - 1; b >= 0; --b) {
            const int id = node.table[static_cast<std::size_t>(a) * node.right_size + b];
            if (id == PRUNED) continue;
            result[id] = left[a];
            result[id].insert(result[id].end(), right[b].begin(), right[b].end());
        }
    return result;
}

void Lookup::write(std::vector<std::int64_t> &out) const {
    out.push_back(static_cast<std::int64_t>(nodes_.size()));
    for (const Node &node : nodes_) {
        out.insert(out.end(), {node.variable, node.left, node.right, node.right_size,
                               static_cast<std::int64_t>(node.table.size())});
        out.insert(out.end(), node.table.begin(), node.table.end());
    }
}

std::optional<Lookup> Lookup::read(std::span<const std::int64_t> &in, std::span<const int> domain_sizes, int size) {
    Lookup result;
    if (in.empty()) return {};
    const std::int64_t count = in[0];
    in = in.subspan(1);
    if (count < 1 || count > 2 * static_cast<std::int64_t>(domain_sizes.size())) return {};
    std::vector<std::int64_t> sizes;
    std::vector<char> used(count, 0), seen(domain_sizes.size(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
        if (in.size() < 5) return {};
        const std::int64_t variable = in[0], left = in[1], right = in[2], right_size = in[3], entries = in[4];
        in = in.subspan(5);
        if (entries < 1 || static_cast<std::uint64_t>(entries) > in.size()) return {};
        if (variable >= 0) {
            if (variable >= static_cast<std::int64_t>(domain_sizes.size()) || entries != domain_sizes[variable])
                return {};
            if (seen[variable]++) return {};
        } else {
            // An inner node. Each node may be a part of only one other node, and its ids index that node's table. A negative
            // number other than -1 is refused, since it could become positive when it is converted to a shorter type.
            if (variable != -1) return {};
            if (left < 0 || left >= i || right < 0 || right >= i || left == right || used[left]++ || used[right]++)
                return {};
            if (right_size < sizes[right] || right_size < 1 || entries % right_size != 0 ||
                entries / right_size < sizes[left])
                return {};
        }
        std::int64_t largest = -1;
        for (std::int64_t e = 0; e < entries; ++e) {
            if (in[e] < PRUNED || in[e] > (1 << 30)) return {};
            largest = std::max(largest, in[e]);
        }
        result.nodes_.push_back({static_cast<int>(variable),
                                 static_cast<int>(left),
                                 static_cast<int>(right),
                                 static_cast<int>(right_size),
                                 {in.begin(), in.begin() + entries}});
        sizes.push_back(largest + 1);
        in = in.subspan(entries);
    }
    for (std::int64_t i = 0; i + 1 < count; ++i)
        if (!used[i]) return {};
    if (sizes.back() > size) return {};
    return result;
}

}  // namespace misstep::dominance
