#pragma once

#include <span>
#include <vector>

#include "fdr/task.h"

namespace misstep {

// A task as an ASNet reads it: its operators sorted by schema, its facts sorted by predicate, and the facts that each
// operator is related to. Operators and facts are numbered by their position in these orders.
struct ASNetStructure {
    static constexpr int MISSING = -1;  // a related atom that is never true

    std::vector<std::vector<int>> slots;  // of each schema: the predicate of each related atom
    int predicate_count = 0;

    std::vector<int> schema_begin;      // schema a has the operators [schema_begin[a], schema_begin[a + 1])
    std::vector<OperatorId> operators;  // their ids in the task
    std::vector<int> related;           // facts of the slots, operator by operator, or MISSING

    std::vector<int> predicate_begin;  // likewise for facts
    std::vector<int> fact_variable;    // -1: the fact is always true
    std::vector<int> fact_value;
    std::vector<int> fact_goal;  // 1 if the fact is a goal

    int schema_count() const { return static_cast<int>(slots.size()); }
    int slot_count(int schema) const { return static_cast<int>(slots[schema].size()); }
    int operator_count() const { return static_cast<int>(operators.size()); }
    int fact_count() const { return static_cast<int>(fact_variable.size()); }
    // Number of pairs (schema, slot) that name the predicate.
    std::vector<int> relation_counts() const;
    // Throws std::invalid_argument if the arrays contradict each other or the task.
    void check(const Task &task) const;
};

// Weights as they are stored: matrices (outputs x inputs) and biases, one after the other: for every layer
// the schemas, then for every layer but the last the predicates.
class ASNetWeights {
   public:
    struct Module {
        std::span<const float> matrix;
        std::span<const float> bias;
        int outputs;
        int inputs;
    };

    // The numbers must outlive the object. Throws std::invalid_argument if there are too many or too few.
    ASNetWeights(const ASNetStructure &structure, int hidden, int layers, std::span<const float> numbers);

    int hidden() const { return hidden_; }
    int layers() const { return layers_; }  // of propositions; there is one more of actions
    const Module &action(int layer, int schema) const { return actions_[layer * schemas_ + schema]; }
    const Module &proposition(int layer, int predicate) const { return propositions_[layer * predicates_ + predicate]; }

   private:
    int hidden_;
    int layers_;
    int schemas_;
    int predicates_;
    std::vector<Module> actions_;
    std::vector<Module> propositions_;
};

}  // namespace misstep
