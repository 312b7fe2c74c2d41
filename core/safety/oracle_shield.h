#pragma once

#include "safety/decider.h"

namespace misstep::safety {

// A policy that takes its best-ranked label all of whose outcomes are decided to be safe. From a safe state its runs stay among
// safe states for ever. Where no label is decided so, because the state is not safe or a limit was reached, it takes the
// policy's own: such states are counted.
class OracleShield : public LabelPolicy {
   public:
    // The decider's system has the policy that is shielded.
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
