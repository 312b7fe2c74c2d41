#pragma once

#include <memory>
#include <unordered_map>

#include "safety/transitions.h"

namespace misstep::safety {

// The first label that applies.
class FirstLabel : public LabelPolicy {
   public:
    LabelId choose(StateId, std::span<const LabelId> applicable) override { return applicable.front(); }
};

// A label for each state; NO_LABEL for states beyond the end of the table.
class LabelTable : public LabelPolicy {
   public:
    explicit LabelTable(std::vector<LabelId> labels) : labels_(std::move(labels)) {}
    LabelId choose(StateId id, std::span<const LabelId>) override {
        return id < labels_.size() ? labels_[id] : NO_LABEL;
    }

   private:
    std::vector<LabelId> labels_;
};

// A policy with other labels in some states: the repair of a bug by a strategy that avoids it.
class PatchedPolicy : public LabelPolicy {
   public:
    PatchedPolicy(std::shared_ptr<LabelPolicy> inner, std::unordered_map<StateId, LabelId> patches)
        : inner_(std::move(inner)), patches_(std::move(patches)) {}
    LabelId choose(StateId id, std::span<const LabelId> applicable) override {
        const auto patch = patches_.find(id);
        return patch != patches_.end() ? patch->second : inner_->choose(id, applicable);
    }
    bool has_values() const override { return inner_->has_values(); }
    void values(StateId id, std::span<const LabelId> applicable, std::span<double> result) override {
        inner_->values(id, applicable, result);
    }
    void prepare(std::span<const StateId> ids) override { inner_->prepare(ids); }

   private:
    std::shared_ptr<LabelPolicy> inner_;
    std::unordered_map<StateId, LabelId> patches_;
};

// A policy that must not take some labels in some states, because they were found to be faults. Where its choice is forbidden it
// takes the best-valued label that is not forbidden, or the first such label if it has no values; it keeps its choice if all are
// forbidden. This gives no guarantee: only the faults that were found are forbidden.
class BlacklistShield : public LabelPolicy {
   public:
    BlacklistShield(std::shared_ptr<LabelPolicy> inner, std::unordered_map<StateId, std::vector<LabelId>> forbidden)
        : inner_(std::move(inner)), forbidden_(std::move(forbidden)) {}
    LabelId choose(StateId id, std::span<const LabelId> applicable) override;
    bool has_values() const override { return inner_->has_values(); }
    void values(StateId id, std::span<const LabelId> applicable, std::span<double> result) override {
        inner_->values(id, applicable, result);
    }
    void prepare(std::span<const StateId> ids) override { inner_->prepare(ids); }

   private:
    std::shared_ptr<LabelPolicy> inner_;
    std::unordered_map<StateId, std::vector<LabelId>> forbidden_;
};

}  // namespace misstep::safety
