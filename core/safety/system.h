#pragma once

#include <memory>

#include "safety/arena.h"
#include "safety/stamps.h"
#include "safety/transitions.h"

namespace misstep::safety {

// How a state without an applicable label counts.
enum class DeadEnds : std::uint8_t { safe, unsafe, error };
// What to do with a policy that names no applicable label. filter: take its best-valued label that applies; it is an error if
// it has no values for them. stop_safe: its run ends there, which is safe. error: it is an error.
enum class Inapplicable : std::uint8_t { filter, stop_safe, error };
// The order in which deciders try the labels of a state. policy: the policy's label first, then by its values, or as declared if it
// has none. safest: within a radius the same as `policy`, since the policy's label costs nothing there; without a radius first the
// labels whose worst outcome is farthest from being unsafe, so that the policy is never asked. declared: always as declared.
enum class Order : std::uint8_t { safest, policy, declared };

struct Rules {
    DeadEnds dead_ends = DeadEnds::safe;
    Inapplicable inapplicable = Inapplicable::filter;
    Order order = Order::safest;
};

// `open`: none of the others, as far as is known. With DeadEnds::safe an open state may turn out to be a dead end when it is
// expanded. With DeadEnds::unsafe dead ends are unsafe, and this is known from the start.
enum class Kind : std::uint8_t { unseen, open, unsafe, goal, dead_end };

// The labels of a state, as they were declared.
class Actions {
   public:
    Actions() = default;
    explicit Actions(const std::uint32_t *record) : record_(record) {}
    std::uint32_t count() const { return record_[0]; }
    LabelId label(std::uint32_t i) const { return static_cast<LabelId>(record_[1 + i]); }
    std::span<const StateId> outcomes(std::uint32_t i) const {
        const std::uint32_t *offsets = record_ + 1 + count();
        return {offsets + count() + 1 + offsets[i], offsets[i + 1] - offsets[i]};
    }

   private:
    const std::uint32_t *record_ = nullptr;
};

// The same labels in the order in which deciders try them.
class Ranking {
   public:
    static Ranking declared() { return Ranking(nullptr, 0); }
    static Ranking first(std::uint32_t action) { return Ranking(nullptr, action); }
    static Ranking listed(const std::uint32_t *order) { return Ranking(order, 0); }
    std::uint32_t operator[](std::uint32_t rank) const {
        if (order_ != nullptr) return order_[rank];
        if (rank == 0) return first_;
        return rank <= first_ ? rank - 1 : rank;
    }

   private:
    Ranking(const std::uint32_t *order, std::uint32_t first) : order_(order), first_(first) {}
    const std::uint32_t *order_;
    std::uint32_t first_;
};

// A transition system under a policy, as far as it has been explored.
//
// All questions of this library are about one system: can the policy get from here into an unsafe state, could another
// strategy avoid that, with how many deviations, and which decision was the fault. The algorithms that answer them visit the same
// states many times. So a model and a policy implement two small interfaces (transitions.h) that are called once for each state, and
// this class keeps the answers in flat arrays under the state's id, where a look-up costs no virtual call.
//
// The definitions:
//   terminal   unsafe, else goal, else dead end, tested in that order. Terminal states are never left, whatever edges the model
//              has there.
//   safe       some strategy avoids unsafe states for ever, whatever the outcomes. Running for ever is as good as a goal.
//   r-safe     some strategy does so and takes, on each of its runs, at most r labels that are not the policy's. 0-safe: the
//              policy itself does so. A state that is r-safe for no r may still be safe: a deviation within a cycle counts each time.
//   bug        the policy may run from here into an unsafe state, and the state is safe.
//   fault      a safe state, and a decision of the policy there that has an outcome that is not safe.
// A strategy has to act: where a policy stops (Inapplicable::stop_safe) every label is a deviation.
class System {
   public:
    explicit System(std::shared_ptr<Transitions> transitions, std::shared_ptr<LabelPolicy> policy = nullptr,
                    Rules rules = {});
    System(const System &) = delete;
    System &operator=(const System &) = delete;

    Transitions &transitions() { return *transitions_; }
    const Rules &rules() const { return rules_; }
    bool has_policy() const { return policy_ != nullptr; }
    // Forgets the old one's decisions. Deciders notice by `policy_version` and keep what does not depend on the policy.
    void set_policy(std::shared_ptr<LabelPolicy> policy);
    std::uint32_t policy_version() const { return policy_version_; }

    Kind kind(StateId id) {
        const Kind known = kinds_[id];
        return known == Kind::unseen ? classify(id) : known;
    }
    bool is_unsafe(StateId id) { return kind(id) == Kind::unsafe; }

    // Only for states that are not known to be terminal. Afterwards `kind` tells whether the state is a dead end. The result stays
    // valid.
    Actions actions(StateId id) {
        const std::uint32_t *record = expansions_[id];
        return Actions(record == nullptr ? expand(id) : record);
    }
    // Only for states that have a label. `ranking` follows the rules for a question with or without a radius; `by_policy` is the
    // order of the policy's values.
    Ranking ranking(StateId id, bool bounded) {
        if (rules_.order == Order::declared) return Ranking::declared();
        return rules_.order == Order::safest && !bounded ? by_distance(id) : by_policy(id);
    }
    Ranking by_policy(StateId id);

    // The policy's label; NO_LABEL where it stops. Only for states that are not terminal. Where only the environment can move, the
    // result is the environment's label, and the policy is not asked.
    LabelId decision(StateId id) {
        const LabelId known = decisions_[id];
        return known == UNASKED ? ask(id) : known;
    }
    // Outcomes of the policy's label; none if it stops or the state turns out to be a dead end. Only for states that are not known
    // to be terminal.
    std::span<const StateId> policy_outcomes(StateId id);
    // Lets the policy evaluate all those states together that it has not been asked about.
    void prepare(std::span<const StateId> ids);

    double distance(StateId id) {
        if (transitions_->has_distance()) return transitions_->distance(id);
        return is_unsafe(id) ? 0 : 1;
    }
    // The distance that follows from the unsafety condition alone, without the model's own distance.
    double distance_to_unsafe(StateId id) { return transitions_->distance_to_unsafe(id); }
    StateId sample(CounterRandom &random) { return transitions_->sample(random); }

    // An id larger than that of any explored state.
    StateId known_states() { return static_cast<StateId>(kinds_.entries().size()); }
    std::uint64_t expansions() const { return expanded_; }   // states whose transitions were asked for
    std::uint64_t policy_calls() const { return policy_calls_; }
    std::size_t bytes() const;

   private:
    static constexpr LabelId UNASKED = -2;

    Kind classify(StateId id);
    const std::uint32_t *expand(StateId id);
    bool is_environments(std::span<const LabelId> applicable) const {
        return applicable.size() == 1 && applicable.front() == transitions_->environment_label();
    }
    bool waits(StateId id);
    LabelId ask(StateId id);
    LabelId ask(StateId id, std::span<const LabelId> applicable);
    Ranking by_distance(StateId id);
    std::string names(std::span<const LabelId> labels) const;  // the first few, to be told to a user
    LabelId best_valued(StateId id, std::span<const LabelId> applicable);
    void found_dead_end(StateId id);
    std::uint32_t put_outcomes(std::span<const StateId> outcomes, std::uint32_t *to);

    std::shared_ptr<Transitions> transitions_;
    std::shared_ptr<LabelPolicy> policy_;
    Rules rules_;
    std::uint32_t policy_version_ = 0;
    std::uint64_t expanded_ = 0;
    std::uint64_t policy_calls_ = 0;

    PerState<Kind> kinds_{Kind::unseen};
    PerState<LabelId> decisions_{UNASKED};
    PerState<const std::uint32_t *> expansions_{nullptr};
    PerState<const std::uint32_t *> steps_{nullptr};     // of the policy: count, outcomes
    PerState<const std::uint32_t *> rankings_{nullptr};  // by the policy
    PerState<const std::uint32_t *> safest_{nullptr};    // by distance
    Arena arena_;
    Arena policy_arena_;

    Expansion expansion_;
    std::vector<LabelId> labels_;
    std::vector<StateId> outcomes_;
    std::vector<std::uint32_t> record_;
    std::vector<double> values_;
    Stamps seen_;
};

}  // namespace misstep::safety
