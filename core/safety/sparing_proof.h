#pragma once

#include "base/limits.h"
#include "safety/system.h"

namespace misstep::safety {

// A proof that asks the policy as little as possible: for policies that are slow to answer.
//
// The model alone is explored first, with all labels. Then two least fixpoints bound what the policy can do, under two assumptions
// about the states where it has not been asked:
//   worst   such a state may take any label. A state that cannot reach an unsafe state then is safe whatever the policy answers.
//   best    such a state takes the label that is best for it. A state that reaches an unsafe state even then does so whatever the
//           policy answers.
// The policy is asked only where the two differ, in states that it can reach from a start by its answers so far. When no such state
// is left, the policy is safe: the inductive set consists of asked states with their labels, and of unasked states that are closed
// under all labels. When the policy can reach a state that is lost even at best, following the policy from there gives a run into an
// unsafe state. The policy is asked at each step of this run, so that nothing is claimed that the policy has not answered.
//
// Answers make the first set smaller and the second one larger. The fixpoints are computed again only when the number of answers has
// grown by half. Fixpoints that are out of date make the policy be asked more often than necessary, but all conclusions stay true.
class SparingProof {
   public:
    enum class End : std::uint8_t { open, safe, unsafe };
    static constexpr LabelId ANY = -2;  // in place of a label: any label

    SparingProof(System &system, std::span<const StateId> starts);
    SparingProof(const SparingProof &) = delete;
    SparingProof &operator=(const SparingProof &) = delete;

    // Of the limits, expansions count states of the model and evaluations count questions to the policy. Either `run` or `explore`
    // is called, and only once.
    Limit run(const Limits &limits);
    // Asks the policy nothing. Only finds the starts from which no strategy is safe, see `lost_certificate`.
    Limit explore(const Limits &limits);

    End end() const { return end_; }
    std::size_t size() const { return states_.size(); }  // states of the model, as far as it was explored
    std::size_t starts() const { return starts_; }
    std::uint64_t asked() const { return asked_count_; }
    std::vector<StateId> unsafe_run() const;  // if `end` is unsafe
    // The inductive set, if `end` is safe: states, and of each the label, NO_LABEL where none is taken, or ANY.
    void certificate(std::vector<StateId> &states, std::vector<LabelId> &labels);
    // After `explore`: the starts that are lost, and the states that prove it. Each state is unsafe, or each of its labels has an
    // outcome in the list with a smaller rank.
    void lost_certificate(std::vector<StateId> &states, std::vector<std::uint32_t> &ranks);
    std::size_t bytes() const;

   private:
    using Number = std::uint32_t;  // of a state, in the order in which it was met
    static constexpr Number NONE = ~0U;
    static constexpr std::size_t BATCH = 64;
    enum Asked : std::uint8_t { NO, TAKES, STOPS };

    Limit expand(LimitWatch &watch, Progress &progress);
    void connect();
    void solve(bool may_stop);
    void solve() { solve(system_.rules().inapplicable == Inapplicable::stop_safe); }
    bool is_permitted(std::uint64_t slot) const;  // a label of a state is a slot
    void reach(Number state, Number parent);
    void answered(Number state);
    Limit ask(std::span<const Number> questions, LimitWatch &watch, Progress &progress);
    void follow_lost(Number state);

    System &system_;
    std::vector<StateId> states_;
    std::size_t starts_ = 0;
    PerState<Number> numbers_{NONE};
    std::vector<std::uint64_t> slots_{0};  // of state s: [slots_[s], slots_[s + 1])
    std::vector<Number> owners_;           // by slot
    std::vector<std::uint64_t> uses_;      // of state s as an outcome: slots at [uses_[s], uses_[s + 1]) of users_
    std::vector<std::uint32_t> users_;

    std::vector<std::uint8_t> asked_;
    std::vector<std::uint32_t> choice_;  // of an asked state: its slot, counted from its first one
    std::vector<std::uint8_t> worst_;    // can reach an unsafe state at worst
    std::vector<std::uint32_t> lost_;    // gets unsafe even at best: the position where that was found; else NONE
    std::uint64_t asked_count_ = 0;
    std::uint64_t solve_again_ = 0;

    std::vector<Number> reached_;  // by the policy, as far as it was asked
    std::vector<Number> parents_;  // by state; NONE of starts
    std::vector<std::uint8_t> is_reached_;
    std::vector<Number> run_;
    End end_ = End::open;
};

}  // namespace misstep::safety
