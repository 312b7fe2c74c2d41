#pragma once

#include <vector>

#include "asnets/asnet_structure.h"
#include "fdr/successors.h"
#include "nets/aligned.h"
#include "nets/kernels.h"

namespace misstep {

// Action layer 0 of an ASNet, computed by table look-ups.
//
// The input of an operator consists of the truth values of its related facts, which of them are goals, and whether it is
// applicable. Only the truth values and applicability change from state to state, and applicability follows from the truth
// values if every precondition says that a related fact is true or false. So operators that agree on everything else (a
// group) share a table with one row for each pattern of truth values. The row of each operator is kept as a number: the row
// of the pattern where all facts are false, plus a power of two for every related fact that is true. Few facts are true in a
// state, so computing the rows of a state takes a few hundred additions and no arithmetic on features. If applicability
// does not follow, it becomes one more bit of the pattern.
//
// Groups whose tables would be too large have a row for each operator instead, which is computed for every state.
class ASNetInputs {
   public:
    ASNetInputs(const ASNetStructure &structure, const SuccessorGenerator &generator, const ASNetWeights &weights,
                const Kernels &kernels, int width, int max_bits = MAX_BITS);

    static constexpr int MAX_BITS = 12;
    static constexpr int MAX_ROWS = 1 << 15;

    // Finds the row of each operator in this state. `applicable` are the applicable operators (ids of the task).
    void set_state(const int *values, const std::vector<OperatorId> &applicable);
    const int *rows() const { return rows_.data(); }  // of each operator, in the order of the structure
    const float *features() const { return features_.data(); }
    int row_count() const { return row_count_; }
    // The rows from this one on are computed by each set_state.
    int table_rows() const { return table_rows_; }
    // The schema that each row of the tables belongs to.
    int schema_of_row(int row) const { return schema_of_row_[row]; }
    // Whether set_state needs the applicable operators at all.
    bool needs_applicable() const { return any_open_; }

   private:
    // What the operators of a group have in common. The rest of their input follows from the pattern of truth values.
    struct Pattern {
        int schema;
        std::vector<int> slot_bits;  // bit of each slot; or TRUE, or MISSING
        std::vector<int> slot_goals;
        std::vector<int> needs_true;  // bits that must be set for the operator to apply; the others must not
        std::vector<int> needs_false;
        bool open = false;  // applicability does not follow; it is the last bit
        int bits = 0;
        friend auto operator<=>(const Pattern &, const Pattern &) = default;
    };
    static constexpr int TRUE = -2;

    struct Addition {
        int op;
        int amount;
    };

    Pattern pattern_of(int op, int schema, const int *related, std::vector<int> &facts) const;
    void fill_table(const Pattern &pattern, int first_row);
    void compute(int schema, const float *inputs, int row);
    void compute_direct(int op, const int *values);

    const ASNetStructure &structure_;
    const Task &task_;
    const Kernels &kernels_;
    int width_;
    std::vector<Floats> matrices_;  // of each schema, input by input
    std::vector<Floats> biases_;

    Floats features_;
    int row_count_ = 0;
    int table_rows_ = 0;
    std::vector<int> schema_of_row_;
    std::vector<int> first_rows_;          // of each operator: its row when all facts are false
    std::vector<int> rows_;
    std::vector<int> addition_begin_;      // by Task::fact_id
    std::vector<Addition> additions_;
    std::vector<int> open_bit_;  // by operator id of the task: what applicability adds to the row (0: it follows)
    std::vector<int> place_;  // by operator id of the task: its place in the structure
    bool any_open_ = false;
    std::vector<int> direct_;  // operators without a table
    std::vector<int> direct_schema_;
    std::vector<int> related_begin_;
    Floats input_;
};

}  // namespace misstep
