#pragma once

#include "base/limits.h"
#include "safety/system.h"

namespace misstep::safety {

// All states that the policy can reach from some starts, kept as the set that a proof needs.
//
// If none of these states is unsafe, they are an inductive set: it contains the starts, the policy does not lead out of it whatever
// the outcomes are, and it contains no unsafe state. So the states with the policy's labels are a certificate that the policy is
// safe, and it can be checked without searching. An `Envelope` (envelope.h) is the simpler version, which keeps no set.
//
// The search is breadth-first, so that a run into the first unsafe state is a shortest one. The policy is asked in batches of bounded
// size, since a layer may have millions of states. What was explored is kept, so that the work can continue after an unsafe state or
// a limit.
class Closure {
   public:
    explicit Closure(System &system) : system_(system) {}
    Closure(const Closure &) = delete;
    Closure &operator=(const Closure &) = delete;

    void add_starts(std::span<const StateId> starts);  // before the first `explore`
    // Explores until nothing is left, a limit is reached, or (`stop`) a new unsafe state is met. Expansions count the states that the
    // policy leaves.
    Limit explore(const Limits &limits, bool stop);

    bool complete() const { return next_ == states_.size(); }
    std::size_t starts() const { return starts_; }
    const std::vector<StateId> &states() const { return states_; }  // in the order in which they were met, starts first
    std::vector<LabelId> labels();  // of the states; NO_LABEL where no label is taken
    std::size_t explored() const { return next_; }
    std::size_t unsafe() const { return unsafe_.size(); }
    std::uint64_t goals() const { return goals_; }
    std::uint64_t dead_ends() const { return dead_ends_; }
    std::uint64_t stops() const { return stops_; }  // states where the policy stops
    // A shortest run from a start into the first unsafe state, if one was met.
    std::vector<StateId> unsafe_run() const;
    // The starts from which the policy can reach an unsafe state. The closure must be complete.
    std::vector<StateId> unsafe_starts();
    std::size_t bytes() const;

   private:
    static constexpr std::uint32_t START = ~0U;
    static constexpr std::size_t BATCH = 1024;

    void add(StateId state, std::uint32_t parent);

    System &system_;
    std::size_t starts_ = 0;
    std::vector<StateId> states_;
    std::vector<std::uint32_t> parents_;  // positions
    std::vector<std::uint32_t> unsafe_;  // positions
    Stamps seen_;
    std::size_t next_ = 0;
    std::size_t prepared_ = 0;
    std::uint64_t goals_ = 0, dead_ends_ = 0, stops_ = 0;
};

}  // namespace misstep::safety
