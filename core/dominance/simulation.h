#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.h"
#include "dominance/factor.h"
#include "dominance/table.h"

namespace misstep::dominance {

// Quantitative label-dominance simulation (Torralba 2017): tables D_i over the factors of a task such that for all states
// s and t with h*(s) finite
//
//     D_1(s_1, t_1) + ... + D_k(s_k, t_k)  <=  h*(s) - h*(t).
//
// t dominates s by a value if t can answer every step of s: by internal moves, which do not affect other factors, followed by a
// label that is at least as good in the other factors up to a known value, or by nothing. The differences add up along a plan.
// These are inequalities between the D_i, and the greatest solution is wanted. It is computed from above, starting with the
// difference of the goal distances, so the values are too high and must not be used until nothing changes any more. A factor
// whose budget is used up before falls back to the cost of internal moves, D(s, t) = -tau(t, s): go to s, then act as s does. That
// is below the solution, so the other factors can continue and the sum stays sound. The solution does not depend on the order of
// updates, and so it does not depend on the number of threads.
//
// `strict` requires in addition that internal moves are answered by internal moves. Then D(s, t) + D(t, u) <= D(s, u) holds. The
// proof needs this: it follows a plan of s and lets the factors answer one after the other, and every answer changes the factors
// that have answered before by no more than a known value.
struct SimulationOptions {
    bool strict = true;
    bool tau = true;            // internal moves at all
    bool recursive_tau = true;  // also labels after which the other factors can return by internal moves
    bool noop_tau = false;      // also labels with a bounded loss in the other factors; not proven to be sound
    // A value without a finite limit falls a little in every round. Values below -truncate, and those of rows that were lowered
    // more often than max_drops, become -infinity. That is below the solution and thus sound.
    Cost truncate = 1000;
    std::uint32_t max_drops = 200;
    std::uint64_t max_steps = 2'000'000'000;  // of each factor; a step reads about one entry
    std::uint64_t max_cells = std::uint64_t{1} << 24;  // of a table; larger factors get the identity
    int threads = 1;
};

// Why the table of a factor is below the solution.
enum class Fallback { none, steps, cells, time };
const char *name(Fallback fallback);

struct FactorTable {
    std::vector<int> variables;
    Lookup lookup;
    Table table;
    Fallback fallback = Fallback::none;
};

struct Simulation {
    std::vector<FactorTable> factors;
    bool transitive = true;  // D(s, t) + D(t, u) <= D(s, u) for all states
    int rounds = 0;
    std::uint32_t drops = 0;  // of the row that was lowered most often
    std::uint64_t steps = 0;
};

// If `limits.seconds` is reached, all factors that are not finished fall back.
Simulation simulate(const Factoring &factoring, const SimulationOptions &options, const Limits &limits);

// The value to the other factors if one factor answers the label `challenge` by the label `answer`, or by nothing.
struct LabelWeight {
    int challenge;
    int answer;
    Cost value;
};
inline constexpr int NO_LABEL = -1;

// Between all labels that are relevant in a factor, by the tables of a simulation of the same factoring.
std::vector<LabelWeight> label_weights(const Factoring &factoring, const Simulation &simulation, int factor,
                                       std::uint64_t max_cells);

}  // namespace misstep::dominance
