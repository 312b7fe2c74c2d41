#pragma once

#include "jani/engine.h"
#include "safety/transitions.h"

namespace misstep::safety {

// A random label, uniform among the applicable ones, and always the same one in the same state. The number is drawn from a stream
// that depends on the values of the state and not on its id, since ids depend on which states were met before.
class RandomLabel : public LabelPolicy {
   public:
    RandomLabel(std::shared_ptr<const jani::Engine> engine, std::uint64_t seed)
        : engine_(std::move(engine)), seed_(seed), values_(engine_->model().slots().size()) {}

    LabelId choose(StateId id, std::span<const LabelId> applicable) override;

   private:
    std::shared_ptr<const jani::Engine> engine_;
    std::uint64_t seed_;
    std::vector<jani::Word> values_;
};

}  // namespace misstep::safety
