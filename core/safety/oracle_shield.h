#pragma once

#include "safety/decider.h"

namespace misstep::safety {

// A policy that takes, among the labels all of whose outcomes are decided to be safe, the one that the shielded policy ranks best.
// From a safe state its runs stay among safe states for ever, unless a limit is reached. Where no label is decided to be safe,
// because the state is not safe or a limit was reached, it takes the policy's own label; such states are counted.
class OracleShield : public LabelPolicy {
   public:
    // The policy to be shielded is the policy of the decider's system.
    OracleShield(std::shared_ptr<Decider> decider, Limits limits)
        : decider_(std::move(decider)), limits_(std::move(limits)) {}

    LabelId choose(StateId id, std::span<const LabelId> applicable) override;
    // Labels all of whose outcomes are decided to be safe, best-ranked by the policy first.
    std::vector<LabelId> allowed(StateId id);

    std::uint64_t corrected() const { return corrected_; }  // states where the policy's own label was not taken
    std::uint64_t unguarded() const { return unguarded_; }  // states without a label that is decided to be safe

   private:
    bool is_safe(std::span<const StateId> outcomes);

    std::shared_ptr<Decider> decider_;
    Limits limits_;
    std::uint64_t corrected_ = 0;
    std::uint64_t unguarded_ = 0;
};

}  // namespace misstep::safety
