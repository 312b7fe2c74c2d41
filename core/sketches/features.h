#pragma once

#include <span>
#include <vector>

#include "sketches/program.h"

namespace misstep {

// The features of a sketch in a state, and in its successors.
//
// A decision of a sketch evaluates all successors of a state, so as little as possible is done for each of them:
//  - Sets that do not depend on the state are computed once.
//  - Sets given by atoms are updated with the current state: a change of a variable adds and removes single members. For each
//    member the number of true atoms that give it is kept, since there may be several. For a successor these sets are changed
//    and then changed back.
//  - Operators whose effects change the same of those sets form a group. A group has the list of steps and features that may
//    change, with the addresses that they read and write. Its results are kept apart from the sets of the current state.
// An object serves one thread at a time. Values do not depend on earlier states.
class SketchFeatures {
   public:
    // `compared` are the features that are needed of successors. The task must outlive the object.
    SketchFeatures(const SketchProgram &program, const Task &task, const std::vector<char> &compared);
    SketchFeatures(const SketchFeatures &) = delete;
    SketchFeatures &operator=(const SketchFeatures &) = delete;

    // Makes `state` the current state, and returns its features.
    const std::int32_t *move_to(const int *state);
    // The compared features after an operator that applies in the current state. The result is valid until the next call.
    const std::int32_t *after(OperatorId op);

    int group_count() const { return static_cast<int>(groups_.size()); }
    int group(OperatorId op) const { return group_of_[op]; }
    // Whether operators of the group can change a compared feature.
    bool changes(int group, int feature) const;

   private:
    using Word = std::uint64_t;
    struct BoundStep {
        SketchProgram::StepCode code;
        Word *to;
        const Word *a;
        const Word *b;
        std::size_t size;
    };
    struct BoundFeature {
        SketchProgram::FeatureCode code;
        int feature;
        const Word *a;
        const Word *b;
        const Word *c;
        std::size_t size;
    };
    struct Program {
        std::vector<BoundStep> steps;
        std::vector<BoundFeature> features;
    };
    // A member that some fact gives: a bit of a set.
    struct Cell {
        std::size_t word;
        Word mask;
    };

    void lay_out(const SketchProgram &program);
    void add_members(const SketchProgram &program);
    std::vector<char> sets_of_state(const SketchProgram &program) const;
    void group_operators(const SketchProgram &program, const std::vector<char> &compared);
    Program bind(const SketchProgram &program, const std::vector<char> &changed, const std::vector<char> &wanted,
                 bool aside);
    static std::vector<char> needed_sets(const SketchProgram &program, const std::vector<char> &wanted);

    void shift(int variable, int from, int to);
    void run(const Program &program, std::int32_t *values);
    template <int W>
    void run_with(const Program &program, std::int32_t *values);

    const Task &task_;
    int objects_;
    int words_;
    std::vector<std::size_t> offsets_;  // of each set
    std::vector<Word> sets_;            // of the current state
    std::vector<Word> aside_;           // of a successor, where they are computed and differ
    std::vector<Word> scratch_;

    std::vector<Cell> cells_;
    std::vector<std::uint32_t> counts_;    // of each cell
    std::vector<std::size_t> cell_begin_;  // of each fact, into fact_cells_
    std::vector<int> fact_cells_;
    std::vector<int> variables_;  // those with cells

    Program of_state_;
    std::vector<Program> groups_;
    std::vector<int> group_of_;              // of each operator
    std::vector<std::size_t> effect_begin_;  // of each operator, into effect_variables_
    std::vector<int> effect_variables_;      // those with cells, without repetitions

    std::vector<int> current_;
    std::vector<int> successor_;
    std::vector<std::int32_t> values_;
    std::vector<std::int32_t> after_;
};

}  // namespace misstep
