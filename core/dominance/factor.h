#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "dominance/lookup.h"
#include "fdr/task.h"

namespace misstep::dominance {

struct Transition {
    int from;
    int to;
    friend bool operator==(const Transition &, const Transition &) = default;
    friend auto operator<=>(const Transition &, const Transition &) = default;
};
using Transitions = std::vector<Transition>;  // sorted, each once

struct LabelledTransitions {
    int label;
    Transitions transitions;
};

// A labelled transition system over the values of some variables.
//
// A label that is not listed is irrelevant: it has a loop at every state. A label that is listed with only a loop
// at every state says the same and is taken out (`drop_loops`). A listed label without transitions can never be executed.
struct Factor {
    std::vector<int> variables;  // sorted
    int size = 0;
    int initial = 0;
    bool has_goal = false;               // the goal mentions one of the variables
    std::vector<char> goal;              // by state
    std::vector<Cost> h;                 // cost to the nearest goal state; filled by pruning
    std::vector<LabelledTransitions> labels;  // the relevant ones, by label
    Lookup lookup;
    bool dirty = true;                   // changed since it was pruned

    const Transitions *find(int label) const;  // nullptr: irrelevant
};

// The factors of a task; their synchronised product is the task, as far as plans go.
struct Factoring {
    std::vector<Factor> factors;
    std::vector<Cost> costs;  // by label; labels are operators, or stand for several after label reduction
    bool solvable = true;     // false: some factor has no path from its initial state to a goal
    int merges = 0;
};

// One factor a variable, not pruned. Throws Unsupported for tasks with conditional effects or axioms: what such an
// operator does to a variable is up to the rest of the state, not to the planner.
Factoring atomic_factoring(const Task &task);

// The synchronised product, not pruned.
Factor product(const Factor &left, const Factor &right);
// How many transitions it has.
std::uint64_t product_transitions(const Factor &left, const Factor &right);

// Renames the states (PRUNED: they go, with all their transitions) and leaves `size` of them.
void rename_states(Factor &factor, std::span<const int> renamed, int size);
void drop_loops(Factor &factor);

}  // namespace misstep::dominance
