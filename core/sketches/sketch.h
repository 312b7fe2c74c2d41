#pragma once

#include <vector>

#include "policygraph/policy.h"
#include "sketches/features.h"

namespace misstep {

// A sketch of width 0: rules that permit steps. A step is permitted if some rule has its conditions true in the state
// and its effects true between the state and its successor; features that the rule does not mention may change.
// A state usually permits several steps, so the sketch is a policy only together with a way to choose among them.
class Sketch : public NativePolicy {
   public:
    enum class Choice {
        first,  // the lowest operator
        last,   // the highest one
        hash    // the one at the place CounterRandom(0, hash of the state).below(how many are permitted)
    };

    // Throws std::invalid_argument if the program is not one for the task, which must outlive the object.
    Sketch(const SketchProgram &program, const Task &task, Choice choice);

    // Those of the candidates that are permitted, in their order, appended to the result.
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
    std::vector<std::vector<int>> possible_;  // of each group: the rules whose effects it could have

    const std::int32_t *before_ = nullptr;
    std::vector<char> active_;  // rules whose conditions hold in the current state
    bool any_active_ = false;
    std::vector<OperatorId> found_;
    std::uint64_t evaluations_ = 0;
};

}  // namespace misstep
