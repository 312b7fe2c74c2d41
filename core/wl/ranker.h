#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "fdr/task.h"

namespace misstep {

// Values of states by the colours of the Weisfeiler-Leman algorithm.
//
// A state is a graph. Its nodes are the objects, the atoms of the goal, and the atoms that are true. An edge joins an
// atom with each of its arguments and is labelled with the position of the argument. A node starts with a colour that says
// what it is (an object; a true goal of this predicate; ...). In each iteration it gets a new colour, which stands for its
// old one together with the set or multiset of (edge, colour) of its neighbours. A file lists the colours that were met in
// training, iteration by iteration, each with a weight. The value of a state is the sum of the weights of all colours of
// all nodes in all iterations. A colour that was not met in training has no number and the weight 0, and neither the node
// nor its neighbours have a colour from then on.
//
// Nodes that are the same in all states of the task (objects, goals, static atoms) are constructed once; a state adds those
// of its own facts. Without iterations the value is a sum of one number for each fact, and no graph is built.
class WlRanker {
   public:
    static constexpr int UNSEEN = -1;  // a colour without a number
    static constexpr int ABSENT = -2;  // a fact that is not an atom

    // Lists of arguments: those of item i are terms[offsets[i]] up to terms[offsets[i + 1]], objects by number.
    struct Terms {
        std::vector<int> offsets;
        std::vector<int> terms;
        std::span<const int> of(std::size_t i) const {
            return {terms.data() + offsets[i], terms.data() + offsets[i + 1]};
        }
    };
    // A task as the ranker reads it. The nodes that all states share come in this order: objects, goals, static atoms.
    struct Structure {
        int objects;
        std::vector<int> node_colours;  // in a state where only those goals are true that are always true
        Terms node_terms;               // objects have none
        std::vector<int> fact_goals;    // the node that a fact recolours, or -1: it is a node of its own
        std::vector<int> fact_colours;  // of that node, or ABSENT
        Terms fact_terms;               // of facts that are nodes of their own
    };
    // The numbers of the colours of an iteration. A key consists of the node's own colour, then edge, colour and count of
    // each kind of neighbour in increasing order.
    struct Hash {
        std::size_t operator()(const std::vector<int> &key) const;
    };
    using Layer = std::unordered_map<std::vector<int>, int, Hash>;

    // `layers`: of each iteration after the start. Throws std::invalid_argument if the arguments contradict each other.
    WlRanker(const Task &task, Structure structure, std::vector<Layer> layers, bool multiset,
             std::vector<double> weights);

    double value(const int *state);

   private:
    struct Edge {
        int object;
        int position;
        int node;
    };
    struct Neighbour {
        int position;
        int colour;
        friend auto operator<=>(const Neighbour &, const Neighbour &) = default;
    };

    void check() const;
    double weight(int colour) const { return colour < 0 ? 0 : weights_[static_cast<std::size_t>(colour)]; }
    double quick_value(const int *state) const;
    void build(const int *state);
    void add_edges(std::vector<Edge> &edges, std::span<const int> terms, int node) const;
    void sort_edges();
    int refined(const Layer &layer, int own);

    const Task &task_;
    Structure structure_;
    std::vector<Layer> layers_;
    bool multiset_;
    std::vector<double> weights_;
    double constant_ = 0;  // the weight of the nodes of all states
    std::vector<double> fact_weights_;
    std::vector<Edge> constant_edges_;

    // Of the current state.
    std::vector<int> colours_, next_;
    std::vector<int> facts_;  // of the nodes beyond those of all states
    std::vector<Edge> edges_, by_object_;
    std::vector<std::size_t> begin_;
    std::vector<Neighbour> neighbours_;
    std::vector<int> key_;
};

}  // namespace misstep
