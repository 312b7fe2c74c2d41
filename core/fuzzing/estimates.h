#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "fdr/state_space.h"
#include "heuristics/lmcut.h"
#include "heuristics/pair_heuristic.h"
#include "heuristics/relaxation_heuristics.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// The estimate h in the biases of P24: h(x) to the goal, and h(x, y) from state to state. INFINITE_COST proves that there
// is no path.
class Estimate {
   public:
    virtual ~Estimate() = default;
    virtual Cost to_goal(StateId state) = 0;
    virtual Cost between(StateId from, StateId to) = 0;
    // Whether the estimate is h*. Exact distances obey the triangle inequality, so some maximisations of P24 are not needed.
    virtual bool exact() const { return false; }

    // Whether a distance since the last call of `forget_cuts` is only a lower bound because its search was cut.
    bool was_cut() const { return was_cut_; }
    void forget_cuts() { was_cut_ = false; }

   protected:
    bool was_cut_ = false;
};

// hFF. One exploration serves all targets from a source. The explorations of the most recent sources are kept, because the
// runs of neighbouring states soon merge and so use the same sources again.
class FFEstimate : public Estimate {
   public:
    static constexpr std::size_t MAX_BYTES = std::size_t{64} << 20;

    FFEstimate(PolicyGraph &graph, std::shared_ptr<const RelaxedTask> relaxed);
    Cost to_goal(StateId state) override;
    Cost between(StateId from, StateId to) override;

   private:
    // There is room for a run of B_state = 50 steps even if that takes more memory. Otherwise the sources of one run would
    // evict each other.
    static constexpr std::size_t LEAST = 64;
    static constexpr std::size_t MOST = 512;
    static constexpr Cost UNKNOWN = -1;
    struct Source {
        std::unique_ptr<PairFF> explored;
        StateId state;
        std::uint64_t used;
    };
    PairFF &from(StateId source);

    PolicyGraph &graph_;
    std::shared_ptr<const RelaxedTask> relaxed_;
    HFF hff_;
    std::vector<Cost> to_goal_;  // by state
    std::vector<Source> sources_;
    std::size_t capacity_ = 0;
    std::unordered_map<StateId, std::size_t> index_;
    std::uint64_t clock_ = 0;
    std::vector<int> values_;
};

// The same values with one exploration per pair and no cache. The fast version is tested against this one.
class NaiveFFEstimate : public Estimate {
   public:
    NaiveFFEstimate(const PolicyGraph &graph, std::shared_ptr<const RelaxedTask> relaxed)
        : graph_(graph), goal_(relaxed), pair_(relaxed), values_(graph.task().variable_count()) {}
    Cost to_goal(StateId state) override;
    Cost between(StateId from, StateId to) override;

   private:
    const PolicyGraph &graph_;
    HFF goal_;
    HFF pair_;
    std::vector<int> values_;
    std::vector<Fact> facts_;
};

// h* by A* with LM-cut, for state spaces that are too large to be enumerated. A search that reaches a limit gives its
// lower bound. Distances are kept, but no search uses the results of another one, since results would then depend on the
// order of the searches.
class SearchEstimate : public Estimate {
   public:
    SearchEstimate(const PolicyGraph &graph, Limits limits)
        : graph_(graph),
          limits_(std::move(limits)),
          goal_(graph.task()),
          pair_(graph.task()),
          values_(graph.task().variable_count()),
          target_(values_) {}
    Cost to_goal(StateId state) override;
    Cost between(StateId from, StateId to) override;
    bool exact() const override { return true; }

   private:
    static constexpr std::size_t MAX_KNOWN = 1 << 20;
    struct Distance {
        Cost cost;
        bool cut;
    };
    template <class Search>
    Cost look_up(std::uint64_t key, std::unordered_map<std::uint64_t, Distance> &known, Search &&search);

    const PolicyGraph &graph_;
    Limits limits_;
    LMCut goal_;
    LMCut pair_;
    std::vector<int> values_;
    std::vector<int> target_;
    std::vector<Fact> facts_;
    std::unordered_map<std::uint64_t, Distance> to_goal_;
    std::unordered_map<std::uint64_t, Distance> between_;
};

// h*, where the whole state space is known. A state outside of it is an error.
class ExactEstimate : public Estimate {
   public:
    static constexpr std::size_t MAX_BYTES = std::size_t{128} << 20;

    ExactEstimate(const PolicyGraph &graph, const StateSpace &space)
        : graph_(graph), space_(space), values_(graph.task().variable_count()) {}
    Cost to_goal(StateId state) override { return space_.h_star()[find(state)]; }
    Cost between(StateId from, StateId to) override;
    bool exact() const override { return true; }

   private:
    StateId find(StateId state);
    const std::vector<Cost> &distances_from(StateId source);

    const PolicyGraph &graph_;
    const StateSpace &space_;
    std::vector<int> values_;
    std::vector<StateId> numbers_;  // graph -> state space
    std::unordered_map<StateId, std::vector<Cost>> distances_;
};

}  // namespace misstep
