#pragma once

#include "jani/engine.h"
#include "safety/transitions.h"

namespace misstep::safety {

// A JANI task as a transition system. Its ids are those of the engine, so that other users of the engine have the same ids.
class JaniTransitions : public Transitions {
   public:
    explicit JaniTransitions(std::shared_ptr<jani::Engine> engine) : engine_(std::move(engine)) {}

    jani::Engine &engine() { return *engine_; }
    std::shared_ptr<jani::Engine> shared_engine() const { return engine_; }

    std::uint8_t flags(StateId id) override;
    void expand(StateId id, Expansion &result) override;
    bool has_distance() const override { return true; }
    double distance(StateId id) override { return engine_->distance(id); }
    double distance_to_unsafe(StateId id) override { return engine_->distance_to_unsafe(id); }
    bool has_probabilities() const override { return true; }
    void probabilities(StateId id, LabelId label, std::vector<StateId> &outcomes,
                       std::vector<double> &chances) override;
    StateId sample(CounterRandom &random) override { return engine_->sample_initial(random); }
    bool is_partial() const override { return true; }
    void labels(StateId id, std::vector<LabelId> &result) override;
    void outcomes(StateId id, LabelId label, std::vector<StateId> &result) override;
    LabelId environment_label() const override { return engine_->environment_label(); }
    std::size_t bytes() const override { return engine_->bytes(); }
    std::string describe(StateId id) const override { return engine_->text(id); }
    std::string label_name(LabelId label) const override;

   private:
    std::shared_ptr<jani::Engine> engine_;
};

}  // namespace misstep::safety
