#include "nets/trees.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace misstep {

namespace {

constexpr int ROWS = 64;    // rows that are evaluated by a tree while it is in the nearest cache
constexpr int TOGETHER = 8;  // rows that descend in a tree at the same time

bool is_child(std::int32_t child, std::int32_t parent, const Trees::Tree &tree) {
    return child < 0 ? ~child < tree.leaves : child > parent && child < tree.nodes;
}

}  // namespace

Trees::Trees(int inputs, int outputs, Rule rule, const std::vector<Tree> &trees, const std::vector<Node> &nodes,
             std::vector<double> values, std::vector<double> base)
    : Network(inputs, outputs), rule_(rule), values_(std::move(values)), base_(std::move(base)) {
    if (inputs < 1 || outputs < 1) throw std::invalid_argument("an ensemble needs inputs and outputs");
    if (base_.size() != static_cast<std::size_t>(outputs))
        throw std::invalid_argument("the base does not fit the outputs");
    std::size_t node = 0, value = 0;
    for (const Tree &tree : trees) {
        const std::size_t numbers = tree.output < 0 ? static_cast<std::size_t>(outputs) : 1;
        if (tree.nodes < 0 || tree.leaves < 1 || tree.output >= outputs ||
            nodes.size() - node < static_cast<std::size_t>(tree.nodes) ||
            values_.size() - value < static_cast<std::size_t>(tree.leaves) * numbers)
            throw std::invalid_argument("a tree does not fit the nodes and leaves that are given");
        add_tree(tree, nodes.data() + node, value);
        node += static_cast<std::size_t>(tree.nodes);
        value += static_cast<std::size_t>(tree.leaves) * numbers;
    }
    if (node != nodes.size() || value != values_.size())
        throw std::invalid_argument("there are nodes or leaves that belong to no tree");
}

void Trees::add_tree(const Tree &tree, const Node *nodes, std::size_t values) {
    const std::size_t first = steps_.size();
    std::vector<std::int32_t> depth(static_cast<std::size_t>(tree.nodes), 0);
    std::int32_t deepest = 0;
    for (std::int32_t i = 0; i < tree.nodes; ++i) {
        const Node &node = nodes[i];
        if (node.feature < 0 || node.feature >= inputs() || !is_child(node.left, i, tree) ||
            !is_child(node.right, i, tree) || std::isnan(node.threshold))
            throw std::invalid_argument("a node of a tree is wrong");
        const std::int32_t below = depth[static_cast<std::size_t>(i)] + 1;
        deepest = std::max(deepest, below);
        Step step{node.threshold, node.feature, {node.left, node.right}};
        for (std::int32_t &child : step.child) {
            if (child < 0) child = tree.nodes + ~child;
            else depth[static_cast<std::size_t>(child)] = std::max(depth[static_cast<std::size_t>(child)], below);
        }
        steps_.push_back(step);
    }
    for (std::int32_t leaf = 0; leaf < tree.leaves; ++leaf)
        steps_.push_back({0, 0, {tree.nodes + leaf, tree.nodes + leaf}});
    roots_.push_back({first, values, tree.nodes, deepest, tree.output});
}

void Trees::evaluate(const double *in, int count, double *out) {
    for (int begin = 0; begin < count; begin += ROWS) {
        const int rows = std::min(ROWS, count - begin);
        const double *x = in + static_cast<std::ptrdiff_t>(begin) * inputs();
        double *y = out + static_cast<std::ptrdiff_t>(begin) * outputs();
        if (rule_.single) {
            rounded_.resize(
                std::max(rounded_.size(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs())));
            std::transform(x, x + static_cast<std::ptrdiff_t>(rows) * inputs(), rounded_.begin(),
                           [](double value) { return static_cast<double>(static_cast<float>(value)); });
            x = rounded_.data();
        }
        if (rule_.strict) evaluate_block<true>(x, rows, y);
        else evaluate_block<false>(x, rows, y);
    }
}

template <bool STRICT>
void Trees::evaluate_block(const double *in, int count, double *out) const {
    const auto next = [](const Step &step, const double *x) {
        const double value = x[step.feature];
        // NaN goes right, whatever the rule.
        const bool left = STRICT ? value < step.threshold : value <= step.threshold;
        return step.child[left ? 0 : 1];
    };
    for (int row = 0; row < count; ++row)
        std::copy(base_.begin(), base_.end(), out + static_cast<std::ptrdiff_t>(row) * outputs());
    for (const Root &tree : roots_) {
        const Step *steps = steps_.data() + tree.steps;
        int row = 0;
        for (; row + TOGETHER <= count; row += TOGETHER) {
            const double *x = in + static_cast<std::ptrdiff_t>(row) * inputs();
            std::int32_t at[TOGETHER] = {};
            for (std::int32_t level = 0; level < tree.depth; ++level)
                for (int k = 0; k < TOGETHER; ++k) at[k] = next(steps[at[k]], x + k * inputs());
            for (int k = 0; k < TOGETHER; ++k)
                add_leaf(tree, at[k] - tree.inner, out + static_cast<std::ptrdiff_t>(row + k) * outputs());
        }
        for (; row < count; ++row) {
            std::int32_t at = 0;
            while (at < tree.inner) at = next(steps[at], in + static_cast<std::ptrdiff_t>(row) * inputs());
            add_leaf(tree, at - tree.inner, out + static_cast<std::ptrdiff_t>(row) * outputs());
        }
    }
}

void Trees::add_leaf(const Root &tree, std::int32_t leaf, double *out) const {
    const double *values = values_.data() + tree.values;
    if (tree.output >= 0) {
        out[tree.output] += values[leaf];
        return;
    }
    values += static_cast<std::ptrdiff_t>(leaf) * outputs();
    for (int o = 0; o < outputs(); ++o) out[o] += values[o];
}

}  // namespace misstep
