#pragma once

#include <cstdint>
#include <vector>

#include "base/limits.h"
#include "jani/engine.h"

namespace misstep::jani {

// Everything that can be reached from a set of states by all labels and outcomes: the ground truth that deciders and policies are
// tested against. The search is breadth-first, so that parents give shortest paths.
//
// States are numbered in the order in which they were found, from 0. A space has its own engine.
class Space {
   public:
    // Explores until nothing is left or a limit is reached. `limits.expansions` counts states, `limits.evaluations` outcomes. With
    // `raw` the exploration continues behind unsafe states and goals. Without roots it begins at all start states of the task.
    Space(std::shared_ptr<const Task> task, const std::vector<std::vector<Word>> &roots, const Limits &limits,
          bool raw = false);

    bool complete() const { return limit_ == Limit::none; }
    Limit limit() const { return limit_; }
    StateId size() const { return static_cast<StateId>(kinds_.size()); }
    StateId root_count() const { return root_count_; }
    std::uint64_t outcome_count() const { return outcomes_.size(); }
    Engine &engine() { return engine_; }

    enum Kind : std::uint8_t { INNER = 0, UNSAFE = 1, GOAL = 2, DEAD_END = 3 };
    const std::vector<std::uint8_t> &kinds() const { return kinds_; }
    // The labels of state s are at positions [label_offsets[s], label_offsets[s + 1]) of labels; the outcomes of the label at
    // position i are at [outcome_offsets[i], outcome_offsets[i + 1]) of outcomes.
    const std::vector<std::uint64_t> &label_offsets() const { return label_offsets_; }
    const std::vector<LabelId> &labels() const { return labels_; }
    const std::vector<std::uint64_t> &outcome_offsets() const { return outcome_offsets_; }
    const std::vector<StateId> &outcomes() const { return outcomes_; }
    const std::vector<StateId> &parents() const { return parents_; }  // NO_STATE for roots
    const std::vector<LabelId> &parent_labels() const { return parent_labels_; }
    void values(StateId s, Word *result) const { engine_.values(engine_ids_[s], result); }
    std::size_t bytes() const;

   private:
    void explore(LimitWatch &watch, bool raw);
    StateId number(StateId engine_id, StateId parent, LabelId label);

    Engine engine_;
    Progress progress_;
    Limit limit_ = Limit::none;
    StateId root_count_ = 0;
    std::vector<StateId> engine_ids_, numbers_;
    std::vector<std::uint8_t> kinds_;
    std::vector<std::uint64_t> label_offsets_{0}, outcome_offsets_{0};
    std::vector<LabelId> labels_, parent_labels_;
    std::vector<StateId> outcomes_, parents_;
};

}  // namespace misstep::jani
