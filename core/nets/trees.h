#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nets/network.h"

namespace misstep {

// An ensemble of decision trees: each output is the sum of the numbers in the leaves reached in all trees.
//
// The programs that train trees differ in two points: whether a number equal to a threshold goes left, and whether it is first
// rounded to single precision. States of planning tasks are small integers, and thresholds are often integers or halfway
// between them, so a wrong rule changes decisions. Both rules are therefore part of the ensemble.
class Trees : public Network {
   public:
    struct Rule {
        bool strict;  // left is x < threshold; otherwise x <= threshold
        bool single;  // inputs are rounded to single precision first
    };
    // A tree has its inner nodes in [first_node, next tree's), its leaves likewise. A child is an inner node of the tree if not
    // negative, counted within the tree and beyond its parent; otherwise leaf ~child. A tree without inner nodes is its leaf 0.
    struct Tree {
        std::int32_t nodes;
        std::int32_t leaves;
        std::int32_t output;  // the output that its leaves add to; negative: a leaf has a number for every output
    };
    struct Node {
        double threshold;
        std::int32_t feature;
        std::int32_t left;
        std::int32_t right;
    };

    // `base` is the start value of the sums. Throws std::invalid_argument if the arguments contradict each other.
    Trees(int inputs, int outputs, Rule rule, const std::vector<Tree> &trees, const std::vector<Node> &nodes,
          std::vector<double> values, std::vector<double> base);

    void evaluate(const double *inputs, int count, double *outputs) override;

   private:
    // Leaves are nodes as well, behind the inner ones, and lead to themselves. So rows that descend in a tree together need no test of
    // which of them have arrived, and no branch depends on the data.
    struct Step {
        double threshold;
        std::int32_t feature;
        std::int32_t child[2];
    };
    struct Root {
        std::size_t steps;
        std::size_t values;
        std::int32_t inner;
        std::int32_t depth;
        std::int32_t output;
    };

    void add_tree(const Tree &tree, const Node *nodes, std::size_t values);
    template <bool STRICT>
    void evaluate_block(const double *inputs, int count, double *outputs) const;
    void add_leaf(const Root &tree, std::int32_t leaf, double *outputs) const;

    Rule rule_;
    std::vector<double> values_;
    std::vector<double> base_;
    std::vector<Step> steps_;
    std::vector<Root> roots_;
    std::vector<double> rounded_;
};

}  // namespace misstep
