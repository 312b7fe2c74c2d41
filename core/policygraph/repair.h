#pragma once

#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "base/limits.h"
#include "base/registry.h"
#include "heuristics/heuristic.h"
#include "policygraph/policy_graph.h"

namespace misstep {

// The search for a smallest repair: the plan with the fewest decisions other than the policy's, and among those a
// cheapest one.
//
// Following the policy is free, and any other operator is one deviation. With a bound on the cost there are two
// criteria: a path to a state is dropped only if another one has neither more deviations nor a higher cost. No state
// occurs twice on the plan found, so its deviations are a patch: the policy reaches the goal if it is changed in these
// states.
//
// Paths with the same number of deviations form a layer, and a layer is searched by cost. A policy need not be native,
// so the search returns where it needs decisions, and the caller continues it when the policy has been asked. Within a
// layer the search only follows the policy, so it requests the runs from all paths with which the layer begins at once.
//
// An admissible heuristic prunes dead ends and paths that cannot stay within the bound. It may be expensive, so a path
// with one more deviation is not evaluated when it is found, but when its layer begins.
class RepairSearch {
   public:
    struct Options {
        Cost bound = INFINITE_COST;  // on the cost of the plan
        std::uint64_t max_expansions = 0;
        std::uint32_t run_steps = 0;  // the largest length of the runs that are requested
        Heuristic *estimate = nullptr;
    };
    RepairSearch(PolicyGraph &graph, const int *start, const Options &options);

    // Searches until it ends or needs decisions. Returns states of the policy graph: the decisions along the runs from these
    // states are needed, up to `steps` steps. Empty: the search has ended, possibly because a limit was reached.
    const std::vector<StateId> &advance(const Limits &limits = {});
    std::uint32_t steps() const { return steps_; }

    // minimal: a plan that is proven to have the fewest deviations. found: a plan without this proof, because a limit was
    // reached. impossible: it is proven that there is no plan within the bound. limit: neither a plan nor a proof.
    enum class Status { open, minimal, found, impossible, limit };
    struct Result {
        Status status = Status::open;
        std::vector<OperatorId> plan;
        std::vector<StateId> states;  // of the policy graph: where each operator of the plan is applied
        Cost cost = 0;
        std::uint32_t lower_bound = 0;  // no plan has fewer deviations
        std::uint64_t expansions = 0;
    };
    const Result &result() const { return result_; }

   private:
    using LabelId = std::uint32_t;
    static constexpr LabelId NO_LABEL = std::numeric_limits<LabelId>::max();
    static constexpr Cost NOT_KNOWN = -1;
    // A path to a state.
    struct Label {
        StateId state;
        std::uint32_t deviations;
        Cost cost;
        LabelId parent;
        OperatorId op;
    };
    struct State {
        StateId in_graph = NO_STATE;  // set when the decision of the policy is needed
        Cost estimate = NOT_KNOWN;
        Cost cheapest = NOT_KNOWN;  // of the expanded labels, which have no more deviations than later ones
    };

    StateId intern(const std::uint64_t *packed);
    StateId in_graph(StateId id);
    bool is_dominated(const Label &label) const;
    bool is_promising(const Label &label);
    void push(LabelId id);
    bool begin_layer();
    void expand(LabelId id, OperatorId decision);
    void stop() { finish(best_ == NO_LABEL ? Status::limit : Status::found, best_, layers_ - 1); }
    void finish(Status status, LabelId label, std::uint32_t lower_bound);

    PolicyGraph &graph_;
    const SuccessorGenerator &generator_;
    const Options options_;
    StateRegistry registry_;
    std::vector<State> states_;
    std::vector<Label> labels_;
    LabelId best_ = NO_LABEL;  // ends in a goal

    using Entry = std::tuple<Cost, std::uint64_t, LabelId>;  // first in, first out among equals
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> layer_;
    std::vector<LabelId> next_layer_;
    std::uint64_t pushed_ = 0;
    std::uint32_t layers_ = 0;  // begun so far

    std::vector<StateId> pending_;
    std::uint32_t steps_ = 0;
    Result result_;

    std::vector<int> values_;
    std::vector<OperatorId> operators_;
    std::vector<std::uint64_t> packed_;
};

const char *name(RepairSearch::Status status);

}  // namespace misstep
