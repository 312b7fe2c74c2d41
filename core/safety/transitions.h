#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/types.h"

namespace misstep::safety {

// Labels name actions. The adversary chooses which outcome of a label happens.
using LabelId = std::int32_t;
inline constexpr LabelId NO_LABEL = -1;

// What a state is by itself. A state with both flags counts as unsafe. Unsafe states and goals are never left.
enum Flag : std::uint8_t { PLAIN = 0, UNSAFE = 1, GOAL = 2 };

// The labels that apply in a state, in declared order, with their outcomes: those of labels[i] are outcomes[offsets[i]] to
// outcomes[offsets[i + 1] - 1]. Each label is listed once, with the outcomes of all its edges; outcomes may be listed twice.
struct Expansion {
    std::vector<LabelId> labels;
    std::vector<std::uint32_t> offsets{0};
    std::vector<StateId> outcomes;

    void clear() {
        labels.clear();
        offsets.assign(1, 0);
        outcomes.clear();
    }
    // Ends the label whose outcomes were just added.
    void close(LabelId label) {
        labels.push_back(label);
        offsets.push_back(static_cast<std::uint32_t>(outcomes.size()));
    }
};

// A non-deterministic transition system, explored lazily: states get ids when they are first met. This is the interface that a model
// has to implement; `System` keeps all its answers, so that each question is asked once.
class Transitions {
   public:
    virtual ~Transitions() = default;

    virtual std::uint8_t flags(StateId id) = 0;  // PLAIN, UNSAFE, GOAL, or UNSAFE | GOAL
    // Adds to an empty expansion. Not called for unsafe states and goals. A state without a label is a dead end.
    virtual void expand(StateId id, Expansion &result) = 0;
    // An estimate of the distance to unsafe states: 0 if and only if the state is unsafe. It guides the fuzzer and the order in
    // which labels are tried, and no verdict depends on it. Called only if `has_distance`; otherwise the distance is 0 or 1.
    virtual bool has_distance() const { return false; }
    virtual double distance(StateId) { return 1; }
    // The distance from the unsafety condition alone, where `distance` may use more knowledge. By default 0 or 1.
    virtual double distance_to_unsafe(StateId id) { return (flags(id) & UNSAFE) != 0 ? 0 : 1; }
    // The probabilities of the outcomes of an applicable label: each outcome once, with a positive number; the numbers sum to 1 up to
    // rounding. No verdict of the deciders depends on them. Called only if `has_probabilities`.
    virtual bool has_probabilities() const { return false; }
    virtual void probabilities(StateId id, LabelId label, std::vector<StateId> &outcomes, std::vector<double> &chances);
    // An initial state, uniformly.
    virtual StateId sample(CounterRandom &random) = 0;

    // Whether `labels` and `outcomes` are cheaper than `expand`. Runs of a policy need only the outcomes of one label of each state.
    virtual bool is_partial() const { return false; }
    virtual void labels(StateId id, std::vector<LabelId> &result);
    virtual void outcomes(StateId id, LabelId label, std::vector<StateId> &result);

    // The label of states where only the environment can move: no policy is asked there. NO_LABEL if there are no such states.
    virtual LabelId environment_label() const { return NO_LABEL; }
    // The memory in bytes that the states take; 0 if it is small or unknown.
    virtual std::size_t bytes() const { return 0; }

    // For messages.
    virtual std::string describe(StateId id) const { return "state " + std::to_string(id); }
    virtual std::string label_name(LabelId label) const { return "label " + std::to_string(label); }
};

// A policy over labels. It is asked once per state.
class LabelPolicy {
   public:
    virtual ~LabelPolicy() = default;

    // One of the applicable labels. For NO_LABEL or a label that does not apply, see Inapplicable.
    virtual LabelId choose(StateId id, std::span<const LabelId> applicable) = 0;

    // The policy's value of each of these labels; higher is better.
    virtual bool has_values() const { return false; }
    virtual void values(StateId, std::span<const LabelId>, std::span<double>) {}

    // The policy will be asked about these states soon and may evaluate them all at once.
    virtual void prepare(std::span<const StateId>) {}
};

// The model or the policy violated the rules above.
struct ModelError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct PolicyError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace misstep::safety
