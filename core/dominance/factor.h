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
// A label that is not listed is irrelevant: it has a loop at every state. A listed label that has only a loop at every state
// means the same and is removed by `drop_loops`. A listed label without transitions can never be executed.
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

// The factors of a task. Their synchronised product has the same plans as the task.
struct Factoring {
    std::vector<Factor> factors;
    std::vector<Cost> costs;  // by label; labels are operators, or stand for several after label reduction
    bool solvable = true;     // false: some factor has no path from its initial state to a goal
    int merges = 0;
};

// One factor for each variable, not pruned. Throws Unsupported for tasks with conditional effects or axioms: there the effect
// of an operator on a variable depends on other variables, which a factor cannot express.
Factoring atomic_factoring(const Task &task);

// The synchronised product, not pruned.
Factor product(const Factor &left, const Factor &right);
// The number of transitions of the product.
std::uint64_t product_transitions(const Factor &left, const Factor &right);

// Renames the states, of which `size` are left. A state that is renamed to PRUNED is removed with all its transitions.
void rename_states(Factor &factor, std::span<const int> renamed, int size);
void drop_loops(Factor &factor);

}  // namespace misstep::dominance
