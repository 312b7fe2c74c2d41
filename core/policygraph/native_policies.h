#pragma once

#include <memory>
#include <vector>

#include "base/registry.h"
#include "heuristics/heuristic.h"
#include "policygraph/policy.h"

namespace misstep {

// Always takes the first applicable operator.
class FirstPolicy : public NativePolicy {
   public:
    OperatorId choose(const int *, std::span<const OperatorId> candidates) override {
        return candidates.empty() ? NO_ACTION : candidates.front();
    }
};

// Takes a pseudo-random operator with the given probability, and otherwise leaves the decision to the inner policy. The
// random numbers are drawn from a hash of the state and the seed, so the decision is a function of the state.
class Noise {
   public:
    Noise(int variables, double probability, std::uint64_t seed)
        : variables_(variables), probability_(probability), seed_(seed) {}
    // NO_ACTION if the inner policy has to decide, or if there is no operator to choose from.
    OperatorId choose(const int *state, std::span<const OperatorId> candidates) const;

   private:
    int variables_;
    double probability_;
    std::uint64_t seed_;
};

class NoisyPolicy : public NativePolicy {
   public:
    NoisyPolicy(Noise noise, std::shared_ptr<NativePolicy> inner) : noise_(noise), inner_(std::move(inner)) {}
    OperatorId choose(const int *state, std::span<const OperatorId> candidates) override;
    std::uint64_t evaluations() const override { return inner_ ? inner_->evaluations() : 0; }

   private:
    Noise noise_;
    std::shared_ptr<NativePolicy> inner_;  // may be null if the probability is 1
};

// Greedy descent: chooses the successor with the lowest estimate, and the lowest operator among equals. The estimate of a
// goal is 0. If all successors are dead ends, there is no action.
class HeuristicPolicy : public NativePolicy {
   public:
    HeuristicPolicy(const Task &task, std::shared_ptr<Heuristic> heuristic)
        : task_(task), heuristic_(std::move(heuristic)), successor_(task.variable_count()) {}
    OperatorId choose(const int *state, std::span<const OperatorId> candidates) override;
    double last_value() const override { return last_value_; }
    double value(const int *state) override;
    std::uint64_t evaluations() const override { return evaluations_; }

   private:
    Cost estimate(const int *state);

    const Task &task_;
    std::shared_ptr<Heuristic> heuristic_;
    std::vector<int> successor_;
    double last_value_ = 0;
    std::uint64_t evaluations_ = 0;
};

// Decisions given in advance: a plan, an optimal policy, an imported cache. No action in all other states.
class TablePolicy : public NativePolicy {
   public:
    explicit TablePolicy(const StatePacker &packer)
        : packer_(packer), states_(packer.words()), packed_(packer.words()) {}
    // The first decision for a state is kept; later ones are ignored.
    void set(const int *state, OperatorId op);
    OperatorId choose(const int *state, std::span<const OperatorId> candidates) override;

   private:
    const StatePacker &packer_;
    StateRegistry states_;
    std::vector<OperatorId> operators_;
    std::vector<std::uint64_t> packed_;
};

}  // namespace misstep
