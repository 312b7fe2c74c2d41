#pragma once

#include <limits>

#include "safety/system.h"

namespace misstep::safety {

enum class Select : std::uint8_t { greedy, sample, uniform };
// How a run of the fuzzer ended.
enum class RunEnd : std::uint8_t { unsafe, exhausted, step_limit, revisit };
const char *name(RunEnd end);

struct FuzzRules {
    Select select = Select::greedy;
    std::uint32_t lookahead = std::numeric_limits<std::uint32_t>::max();  // layers; the largest number: no limit
    std::uint32_t lookahead_cap = 1000;                                   // states of one lookahead
    std::uint32_t max_steps = 1000;
    bool stop_on_revisit = true;
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
// layer holds only states not met before in this lookahead, otherwise a cycle would keep it going for ever. The outer loop may
// still go round in circles, so steps are limited; a run that comes back to a state stops, unless it may choose another way there.
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

    System &system_;
    FuzzRules rules_;
    std::vector<Entry> entries_;       // of one lookahead, layer by layer
    std::vector<double> distances_;    // the same
    std::vector<double> weights_;
    std::vector<std::uint32_t> way_;
    std::vector<StateId> layer_;
    Stamps seen_;
    Stamps visited_;
};

}  // namespace misstep::safety
