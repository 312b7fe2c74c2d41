#include "sketches/sketch.h"

#include "base/random.h"
#include "fdr/state.h"

namespace misstep {

namespace {

using Test = SketchProgram::Test;

std::vector<char> compared_features(const SketchProgram &program) {
    std::vector<char> compared(program.features.size(), 0);
    for (const SketchProgram::Rule &rule : program.rules)
        for (const SketchProgram::Literal &effect : rule.effects)
            if (effect.feature >= 0 && effect.feature < static_cast<int>(compared.size())) compared[effect.feature] = 1;
    return compared;
}

bool holds(Test test, std::int32_t before, std::int32_t after) {
    switch (test) {
        case Test::positive: return after > 0;
        case Test::zero: return after == 0;
        case Test::increased: return after > before;
        case Test::decreased: return after < before;
        case Test::unchanged: return after == before;
    }
    return false;
}

}  // namespace

Sketch::Sketch(const SketchProgram &program, const Task &task, Choice choice)
    : variables_(task.variable_count()),
      feature_count_(static_cast<int>(program.features.size())),
      rules_(program.rules),
      choice_(choice),
      features_(program, task, compared_features(program)),
      active_(program.rules.size()) {
    for (int group = 0; group < features_.group_count(); ++group) {
        std::vector<int> &possible = possible_.emplace_back();
        for (int r = 0; r < static_cast<int>(rules_.size()); ++r) {
            bool can = true;
            for (const auto &[test, feature] : rules_[r].effects)
                if (test == Test::increased || test == Test::decreased) can = can && features_.changes(group, feature);
            if (can) possible.push_back(r);
        }
    }
}

void Sketch::enter(const int *state) {
    ++evaluations_;
    before_ = features_.move_to(state);
    any_active_ = false;
    for (std::size_t r = 0; r < rules_.size(); ++r) {
        active_[r] = 1;
        for (const auto &[test, feature] : rules_[r].conditions)
            if (!holds(test, before_[feature], before_[feature])) {
                active_[r] = 0;
                break;
            }
        any_active_ = any_active_ || active_[r];
    }
}

bool Sketch::permits(OperatorId op) {
    const std::int32_t *after = nullptr;
    for (int r : possible_[features_.group(op)]) {
        if (!active_[r]) continue;
        if (after == nullptr) {
            ++evaluations_;
            after = features_.after(op);
        }
        bool all = true;
        for (const auto &[test, feature] : rules_[r].effects)
            if (!holds(test, before_[feature], after[feature])) {
                all = false;
                break;
            }
        if (all) return true;
    }
    return false;
}

void Sketch::permitted(const int *state, std::span<const OperatorId> candidates, std::vector<OperatorId> &result) {
    enter(state);
    if (!any_active_) return;
    for (OperatorId op : candidates)
        if (permits(op)) result.push_back(op);
}

OperatorId Sketch::choose(const int *state, std::span<const OperatorId> candidates) {
    if (choice_ == Choice::hash) {
        found_.clear();
        permitted(state, candidates, found_);
        if (found_.empty()) return NO_ACTION;
        CounterRandom random(0, State(std::vector<int>(state, state + variables_)).hash());
        return found_[random.below(found_.size())];
    }
    enter(state);
    if (!any_active_) return NO_ACTION;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const OperatorId op = candidates[choice_ == Choice::first ? i : candidates.size() - 1 - i];
        if (permits(op)) return op;
    }
    return NO_ACTION;
}

}  // namespace misstep
