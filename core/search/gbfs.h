#pragma once

#include <vector>

#include "base/open_list.h"
#include "heuristics/heuristic.h"
#include "search/node_table.h"
#include "search/result.h"

namespace misstep {

// Greedy best-first search: eager, by the heuristic alone, first in first out among equals. Only states that the heuristic
// proves to be dead ends are dropped, so an exhausted search proves that there is no plan.
//
// With a bound, states are also dropped through which the path found costs too much for a plan below the bound. The
// first path to a state need not be the cheapest, so after such a drop an exhausted search proves nothing, and its lower
// bound says so.
class GreedyBestFirst {
   public:
    GreedyBestFirst(const SuccessorGenerator &generator, Heuristic &heuristic, const int *start,
                    Cost bound = INFINITE_COST);

    SearchResult run(const Limits &limits);  // resumable, as AStar::run

   private:
    // Returns whether the state is a goal within the bound, which ends the search.
    bool consider(StateId id);
    SearchResult finish(Status status, Limit limit);
    std::size_t bytes() const { return nodes_.bytes() + open_.bytes(); }

    NodeTable nodes_;
    Heuristic &heuristic_;
    Cost bound_;
    bool dropped_ = false;
    StateId goal_ = NO_STATE;
    StateId unfinished_ = NO_STATE;  // a limit came in the middle of its expansion; it is the next one
    bool expanding_ = false;  // true at the start of `run`: an exception has left an expansion half done
    OpenList<Ties::first_in> open_;
    std::vector<int> values_;
    Progress progress_;
};

}  // namespace misstep
