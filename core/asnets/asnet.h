#pragma once

#include <memory>
#include <string>
#include <vector>

#include "asnets/asnet_inputs.h"
#include "policygraph/policy.h"

namespace misstep {

// An Action Schema Network on a task: gives a number to each applicable operator of a state. The policy takes the operator
// with the largest number, and the one that comes first in the task among equals.
//
// The network alternates between layers with a vector of `hidden` features for each operator and layers with one for
// each fact. An operator reads its related facts and its own features of the previous operator layer. A fact reads, for each
// kind of relation, the maximum over the operators that are so related to it, and its own features of the previous fact layer.
// All operators of a schema share weights, as do all facts of a predicate, so the same weights work for every task of the
// domain.
//
// A literal evaluation multiplies a matrix for every pair of an operator and a related fact, in every layer. Here:
//  - Layer 0 of the operators has few distinct values, so it is looked up (asnet_inputs.h), and so is its product with the
//    weights by which layer 1 reads it.
//  - A matrix is applied to the facts of a slot before they are gathered by the operators ("project, then gather"): operators
//    share facts, so there are never more distinct facts in a slot than operators, and mostly far fewer.
//  - The last layers are computed only where they are read: numbers of the candidates, and features of their related facts.
//  - One state is evaluated at a time. Its features fit into the nearest caches, while those of a batch would not.
//    Eight facts are multiplied with a matrix together (kernels.h).
// So an operator costs a few additions of vectors per layer, and the remaining matrix products are those of facts.
//
// An object uses one thread and serves one thread at a time, because it owns the memory that it works in. Results do not depend
// on the machine, on the batch, or on earlier states.
class ASNet : public NativePolicy {
   public:
    // `kernels` names an instruction set; empty: the best of this machine. `max_table_bits` bounds the tables of layer 0.
    // Throws std::invalid_argument if the arguments contradict each other. The generator must outlive the object.
    ASNet(ASNetStructure structure, const SuccessorGenerator &generator, int hidden, int layers,
          std::span<const float> weights, const std::string &kernels = "", int max_table_bits = ASNetInputs::MAX_BITS);

    const SuccessorGenerator &generator() const { return generator_; }
    const char *kernels() const { return kernels_.name; }

    // The numbers of the candidates (any operators of the task).
    void evaluate(const int *values, std::span<const OperatorId> candidates, float *numbers);
    // The best candidate; NO_ACTION if there is none, FAILED if a number is infinite or NaN.
    OperatorId choose(const int *values, std::span<const OperatorId> candidates) override;
    std::uint64_t evaluations() const override { return evaluations_; }

   private:
    // The input of a hidden layer from a slot of a schema: the products of its matrix with its distinct facts.
    struct Projection {
        std::vector<int> facts;
        int first_term;
    };
    struct HiddenModule {
        std::vector<Floats> slots;  // matrices, input by input
        Floats skip;
        Floats bias;
    };
    struct PropositionModule {
        Floats matrix;
        Floats bias;
    };
    struct OutputModule {
        Floats weights;  // a row for each slot, then one for the skip input
        float bias;
    };

    void build_pools();
    void build_projections();
    void build_modules(const ASNetWeights &weights);
    void build_scratch();
    Kernels::Linear linear(const Floats &matrix, const Floats *bias, int blocks, bool elu) const;

    void propositions(int layer, int predicate, std::span<const int> facts, const float *features, const int *rows,
                      float *out);
    void all_propositions(int layer, const float *features, const int *rows);
    void hidden_actions(int layer);
    void needed_propositions(int layer, std::span<const OperatorId> candidates, const float *features, const int *rows);
    float output(OperatorId op, const float *features, const int *rows);

    ASNetStructure structure_;
    const SuccessorGenerator &generator_;
    const Kernels &kernels_;
    int hidden_;
    int width_;  // hidden_, rounded up to a multiple of Kernels::PADDING
    int layers_;
    std::unique_ptr<ASNetInputs> inputs_;
    Floats input_skip_;  // for each row of the inputs: its product with the skip weights of layer 1, plus the bias

    std::vector<int> place_;          // by operator id of the task
    std::vector<int> schema_of_;      // by place
    std::vector<int> related_begin_;  // by place
    std::vector<int> relation_counts_;

    std::vector<int> pool_begin_;     // first segment of each fact; a segment for each relation of its predicate
    std::vector<int> pool_offsets_;
    std::vector<int> pool_members_;

    std::vector<std::vector<Projection>> projections_;  // [schema][slot]
    std::vector<int> term_of_;                          // like ASNetStructure::related

    std::vector<std::vector<HiddenModule>> hidden_modules_;  // [layer - 1][schema]
    std::vector<std::vector<PropositionModule>> proposition_modules_;
    std::vector<OutputModule> output_modules_;

    // Scratch memory. Row fact_count() of the facts' features is that of MISSING: all -1.
    std::vector<int> all_facts_;
    Floats pooled_;
    Floats facts_[2];
    Floats terms_;
    Floats base_;
    Floats operators_;
    Floats needed_;
    std::vector<int> needed_facts_;
    std::vector<int> needed_row_;  // of each fact
    std::vector<char> marked_;
    std::uint64_t evaluations_ = 0;
    std::vector<OperatorId> applicable_;
    std::vector<float> numbers_;
    Floats lanes_;
};

}  // namespace misstep
