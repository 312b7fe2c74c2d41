#include "janisafety/random_label.h"

namespace misstep::safety {

LabelId RandomLabel::choose(StateId id, std::span<const LabelId> applicable) {
    engine_->values(id, values_.data());
    const auto *words = reinterpret_cast<const std::uint64_t *>(values_.data());
    CounterRandom random(seed_, hash_words(words, values_.size()));
    return applicable[random.below(applicable.size())];
}

}  // namespace misstep::safety
