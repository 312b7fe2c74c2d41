#pragma once

#include "jani/engine.h"
#include "safety/transitions.h"

namespace misstep::safety {

// A label at random, uniformly among those that apply, and always the same one in the same state: the state's values are the
// stream that the number is drawn from, not its id, which depends on what was looked at before.
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
