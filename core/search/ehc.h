#pragma once

#include <vector>

#include "base/open_list.h"
#include "heuristics/heuristic.h"
#include "search/node_table.h"
#include "search/result.h"

namespace misstep {

struct EhcOptions {
    bool helpful = true;   // look at helpful operators first; a phase that fails with them is repeated with all
    bool by_cost = false;  // search a phase by cost instead of by number of steps
};

// Enforced hill-climbing: from the current state search, nearest first, for any state that the heuristic values
// better, move there, repeat. Each phase has a closed list of its own, so a phase may walk back over states of
// earlier ones; the plan may then visit a state twice, and callers shorten it if they care.
//
// The method commits to its moves and is incomplete. An exhausted phase proves that the goal cannot be reached from
// where the phase began. This says that the task is unsolvable only if the phase began in the start state.
class EnforcedHillClimbing {
   public:
    EnforcedHillClimbing(const SuccessorGenerator &generator, Heuristic &heuristic, const int *start,
                         EhcOptions options = {}, Cost bound = INFINITE_COST);

    // A decided search returns its result again. A search that was ended by a limit starts its last phase again.
    SearchResult run(const Limits &limits);

   private:
    enum class Phase { better, failed, stopped };
    Phase search_phase(bool helpful, LimitWatch &watch, LimitWatch &clock);
    std::size_t bytes() const { return nodes_.bytes() + open_.bytes() + helpful_.capacity() * sizeof(OperatorId); }

    NodeTable nodes_;  // of the current phase
    Heuristic &heuristic_;
    EhcOptions options_;
    Cost bound_;
    bool dropped_ = false;

    std::vector<int> current_;
    Cost current_h_ = INFINITE_COST;
    bool at_goal_ = false;
    std::vector<OperatorId> plan_;
    Cost cost_ = 0;

    OpenList<Ties::first_in> open_;
    std::vector<OperatorId> helpful_;  // of all states of the phase, one after the other
    std::vector<std::size_t> helpful_offsets_;
    std::vector<int> values_;
    std::uint64_t registered_ = 0;
    Limit limit_ = Limit::none;
    bool first_phase_ = true;
    bool failed_ = false;
    Progress progress_;
};

}  // namespace misstep
