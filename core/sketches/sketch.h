#pragma once

#include <vector>

#include "policygraph/policy.h"
#include "sketches/features.h"

namespace misstep {

// A sketch of width 0: rules that permit steps. A step is permitted if some rule has its conditions true in the state
// and its effects true between the state and its successor; features that the rule does not mention may change.
// Usually several steps are permitted in a state, so the sketch is a policy only together with a rule to choose among them.
class Sketch : public NativePolicy {
   public:
    enum class Choice {
        first,  // the lowest operator
        last,   // the highest one
        hash    // the one at position CounterRandom(0, hash of the state).below(number of permitted operators)
    };

    // Throws std::invalid_argument if the program does not fit the task. The task must outlive the object.
    Sketch(const SketchProgram &program, const Task &task, Choice choice);

    // Appends the permitted candidates to the result, in their order.
    void permitted(const int *state, std::span<const OperatorId> candidates, std::vector<OperatorId> &result);
    OperatorId choose(const int *state, std::span<const OperatorId> candidates) override;
    const std::int32_t *features(const int *state) { return features_.move_to(state); }
    int feature_count() const { return feature_count_; }
    std::uint64_t evaluations() const override { return evaluations_; }

   private:
    void enter(const int *state);
    bool permits(OperatorId op);

    int variables_;
    int feature_count_;
    std::vector<SketchProgram::Rule> rules_;
    Choice choice_;
    SketchFeatures features_;
    std::vector<std::vector<int>> possible_;  // of each group: the rules whose effects its operators can have

    const std::int32_t *before_ = nullptr;
    std::vector<char> active_;  // rules whose conditions hold in the current state
    bool any_active_ = false;
    std::vector<OperatorId> found_;
    std::uint64_t evaluations_ = 0;
};

}  // namespace misstep
