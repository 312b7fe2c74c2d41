#pragma once

#include <limits>

#include "safety/system.h"

namespace misstep::safety {

// probable: an outcome by the model's probabilities, whatever it looks like; no lookahead.
enum class Select : std::uint8_t { greedy, sample, uniform, probable };
// What a layer of a lookahead holds. fresh: the states met there for the first time. all: every state that many steps away, also by a
// detour, as in Algorithm 1.
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
    bool plain_distance = false;  // to the unsafety condition alone, not the model's own
};

// A run of the policy. labels[i] leads from states[i] to states[i + 1].
struct FuzzRun {
    RunEnd end = RunEnd::exhausted;
    std::vector<StateId> states;
    std::vector<LabelId> labels;
    std::uint64_t looked_at = 0;  // states that the lookaheads met
    std::uint64_t cut = 0;        // lookaheads that went to one of several closest states since the cap was met
};

// Looks for runs of the policy into an unsafe state (Algorithm 1 of the paper): which outcome happens is the fuzzer's choice.
//
// From the state at hand it looks ahead, breadth-first over all outcomes of the policy's labels, until one state of a layer is
// closest to being unsafe, then goes there: greedily, or to any state seen with probability in proportion to exp(-distance). A
// layer holds only states not met before in this lookahead, otherwise a cycle would keep it going until the cap. The outer loop may
// still go round in circles, so steps are limited. A run that comes back to a state stops there or goes on, as the rules say, in the
// same way for every selection. One that goes on is still ended if nothing was left to chance since it was there: it would go
// round for ever, and the end does not depend on how many steps it may take.
//
// Numbers are drawn from the run's own stream, one a choice, so runs can be spread over processes in any way.
class Fuzzer {
   public:
    Fuzzer(System &system, FuzzRules rules) : system_(system), rules_(rules) {}

    System &system() { return system_; }
    FuzzRun run(StateId start, CounterRandom &random);

   private:
    struct Entry {
        StateId state;
        std::uint32_t parent;
    };
    static constexpr std::uint32_t NOWHERE = ~0U;

    // Where to go from the state, as an entry; NOWHERE if the policy's runs end before they get unsafe.
    std::uint32_t look_ahead(StateId from, CounterRandom &random, FuzzRun &run);
    bool add_layer(std::uint32_t first, std::uint32_t end, std::uint32_t &unsafe);
    std::uint32_t closest(std::uint32_t first, CounterRandom &random);
    std::uint32_t sampled(CounterRandom &random);
    std::uint32_t probable(StateId from, CounterRandom &random);
    // One of so many, and whether that was a choice at all.
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
    bool chose_ = false;                       // the last turn was left to chance
    // Outcomes of the policy's label, each with the sum of the chances up to it; by state where they begin and how many they are.
    struct Chances {
        std::uint32_t first, count;
    };
    PerState<Chances> drawn_{{0, 0}};
    std::vector<StateId> drawn_states_;
    std::vector<double> drawn_sums_;
    std::vector<StateId> outcomes_;
    std::vector<double> chances_;
};

}  // namespace misstep::safety
