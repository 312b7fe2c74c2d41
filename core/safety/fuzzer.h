#pragma once

#include <limits>

#include "safety/system.h"

namespace misstep::safety {

// greedy: a state of the last layer that is closest to being unsafe. sample: any state of the lookahead, with probability in
// proportion to exp(-distance). uniform: any state of the last layer. probable: an outcome drawn by the model's probabilities,
// without lookahead.
enum class Select : std::uint8_t { greedy, sample, uniform, probable };
// What a layer of a lookahead holds. fresh: states that no earlier layer holds. all: every state that some path of that many steps
// reaches, as in Algorithm 1.
enum class Layers : std::uint8_t { fresh, all };
// How a run of the fuzzer ended.
enum class RunEnd : std::uint8_t { unsafe, exhausted, step_limit, revisit };
const char *name(RunEnd end);

struct FuzzRules {
    Select select = Select::greedy;
    std::uint32_t lookahead = std::numeric_limits<std::uint32_t>::max();  // layers; the largest number: no limit
    std::uint32_t lookahead_cap = 1000;                                   // states of one lookahead
    std::uint32_t max_steps = 1000;
    bool stop_on_revisit = false;
    Layers layers = Layers::fresh;
    bool plain_distance = false;  // the distance to the unsafety condition alone, not the model's own distance
};

// A run of the policy. labels[i] leads from states[i] to states[i + 1].
struct FuzzRun {
    RunEnd end = RunEnd::exhausted;
    std::vector<StateId> states;
    std::vector<LabelId> labels;
    std::uint64_t looked_at = 0;  // states that the lookaheads met
    std::uint64_t cut = 0;        // lookaheads that the cap ended while several states were equally close
};

// Looks for runs of the policy into an unsafe state (Algorithm 1 of the paper): which outcome happens is the fuzzer's choice.
//
// From the current state it looks ahead, breadth-first over all outcomes of the policy's labels, until a single state of a layer is
// closest to being unsafe, then selects a state (see Select) and goes there. With Layers::fresh a layer holds only states that were
// not met before in this lookahead; otherwise a cycle would keep the lookahead going until the cap. The outer loop may still visit
// states again and again, so steps are limited. The rules say whether a run that revisits a state stops there, in the same way for
// every selection. A run that may go on is still ended if no random choice was made since the last lookahead from this state: it
// would repeat itself for ever, and so the end does not depend on the step limit.
//
// Each run draws its numbers from its own stream, one number for each choice, so runs can be distributed over processes in any way.
class Fuzzer {
   public:
    Fuzzer(System &system, FuzzRules rules)
        : system_(system), rules_(rules), policy_version_(system.policy_version()) {}

    System &system() { return system_; }
    FuzzRun run(StateId start, CounterRandom &random);

   private:
    struct Entry {
        StateId state;
        std::uint32_t parent;
    };
    static constexpr std::uint32_t NOWHERE = ~0U;

    // The entry of the state to go to; NOWHERE if all runs of the policy from the state end without an unsafe state.
    std::uint32_t look_ahead(StateId from, CounterRandom &random, FuzzRun &run);
    bool add_layer(std::uint32_t first, std::uint32_t end, std::uint32_t &unsafe);
    std::uint32_t closest(std::uint32_t first, CounterRandom &random);
    std::uint32_t sampled(CounterRandom &random);
    std::uint32_t probable(StateId from, CounterRandom &random);
    // A number below `count`; `chose_` says whether there was a choice.
    std::uint64_t choose(std::uint64_t count, CounterRandom &random);
    double distance(StateId id) {
        return rules_.plain_distance ? system_.distance_to_unsafe(id) : system_.distance(id);
    }

    System &system_;
    FuzzRules rules_;
    std::vector<Entry> entries_;       // of one lookahead, layer by layer
    std::vector<double> distances_;    // the same
    std::vector<double> weights_;
    std::vector<std::uint32_t> way_;
    std::vector<StateId> layer_;
    Stamps seen_;
    Stamps visited_;
    Stamps turned_;                            // states where this run has looked ahead ...
    PerState<std::uint32_t> turns_{0};         // ... and at which turn
    bool chose_ = false;                       // the last turn made a random choice
    // Outcomes of the policy's label, each with the sum of the probabilities up to it. By state: the first one and their number.
    struct Chances {
        std::uint32_t first, count;
    };
    std::uint32_t policy_version_ = 0;  // of the policy whose outcomes are kept
    PerState<Chances> drawn_{{0, 0}};
    std::vector<StateId> drawn_states_;
    std::vector<double> drawn_sums_;
    std::vector<StateId> outcomes_;
    std::vector<double> chances_;
};

}  // namespace misstep::safety
