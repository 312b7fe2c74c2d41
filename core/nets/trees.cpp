#include "nets/trees.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace misstep {

namespace {

constexpr int BLOCK = 64;  // rows that go through a tree while it is in the nearest cache

bool is_child(std::int32_t child, std::int32_t parent, const Trees::Tree &tree) {
    return child < 0 ? ~child < tree.leaves : child > parent && child < tree.nodes;
}

}  // namespace

Trees::Trees(int inputs, int outputs, Rule rule, const std::vector<Tree> &trees, std::vector<Node> nodes,
             std::vector<double> values, std::vector<double> base)
    : Network(inputs, outputs),
      rule_(rule),
      nodes_(std::move(nodes)),
      values_(std::move(values)),
      base_(std::move(base)),
      rounded_(static_cast<std::size_t>(BLOCK) * static_cast<std::size_t>(std::max(0, inputs))) {
    if (inputs < 1 || outputs < 1) throw std::invalid_argument("an ensemble needs inputs and outputs");
    if (base_.size() != static_cast<std::size_t>(outputs))
        throw std::invalid_argument("the base does not fit the outputs");
    std::size_t node = 0, value = 0;
    for (const Tree &tree : trees) {
        const std::size_t numbers = tree.output < 0 ? static_cast<std::size_t>(outputs) : 1;
        if (tree.nodes < 0 || tree.leaves < 1 || tree.output >= outputs ||
            nodes_.size() - node < static_cast<std::size_t>(tree.nodes) ||
            values_.size() - value < static_cast<std::size_t>(tree.leaves) * numbers)
            throw std::invalid_argument("a tree does not fit the nodes and leaves that are given");
        for (std::int32_t i = 0; i < tree.nodes; ++i) {
            const Node &inner = nodes_[node + static_cast<std::size_t>(i)];
            if (inner.feature < 0 || inner.feature >= inputs || !is_child(inner.left, i, tree) ||
                !is_child(inner.right, i, tree) || std::isnan(inner.threshold))
                throw std::invalid_argument("a node of a tree is wrong");
        }
        roots_.push_back({nodes_.data() + node, values_.data() + value, tree.nodes == 0, tree.output});
        node += static_cast<std::size_t>(tree.nodes);
        value += static_cast<std::size_t>(tree.leaves) * numbers;
    }
    if (node != nodes_.size() || value != values_.size())
        throw std::invalid_argument("there are nodes or leaves that belong to no tree");
}

void Trees::evaluate(const double *in, int count, double *out) {
    for (int begin = 0; begin < count; begin += BLOCK) {
        const int rows = std::min(BLOCK, count - begin);
        const double *x = in + static_cast<std::ptrdiff_t>(begin) * inputs();
        double *y = out + static_cast<std::ptrdiff_t>(begin) * outputs();
        if (rule_.single) {
            std::transform(x, x + static_cast<std::ptrdiff_t>(rows) * inputs(), rounded_.begin(),
                           [](double value) { return static_cast<double>(static_cast<float>(value)); });
            x = rounded_.data();
        }
        if (rule_.strict)
            evaluate_block<true>(x, rows, y);
        else
            evaluate_block<false>(x, rows, y);
    }
}

template <bool STRICT>
void Trees::evaluate_block(const double *in, int count, double *out) const {
    for (int row = 0; row < count; ++row)
        std::copy(base_.begin(), base_.end(), out + static_cast<std::ptrdiff_t>(row) * outputs());
    for (const Root &tree : roots_) {
        const double *x = in;
        double *y = out;
        for (int row = 0; row < count; ++row, x += inputs(), y += outputs()) {
            std::int32_t at = tree.is_leaf ? ~0 : 0;
            while (at >= 0) {
                const Node &node = tree.nodes[at];
                const double value = x[node.feature];
                const bool left = STRICT ? value < node.threshold : value <= node.threshold;
                at = left ? node.left : node.right;
            }
            if (tree.output >= 0) {
                y[tree.output] += tree.values[~at];
            } else {
                const double *leaf = tree.values + static_cast<std::ptrdiff_t>(~at) * outputs();
                for (int o = 0; o < outputs(); ++o) y[o] += leaf[o];
            }
        }
    }
}

}  // namespace misstep
