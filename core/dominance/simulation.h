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
// t dominates s by a value if whatever s does next, t can answer: by internal moves, which do not concern other factors, then by
// a label that is at least as good there up to a known value, or by nothing. What is left adds up over a plan. All this
// are inequalities between the D_i, and the greatest solution is wanted. It is found from above, starting with the difference
// of the goal distances, so values are too high, and worthless, until nothing changes any more. A factor whose budget runs out
// before falls back to the cost of internal moves, D(s, t) = -tau(t, s): walk to s, then do as s does. That is below the
// solution, so the other factors can go on and the sum stays sound. The solution does not depend on the order of
// updates, hence neither on the number of threads.
//
// `strict` asks in addition that internal moves are answered by internal moves. Then D(s, t) + D(t, u) <= D(s, u)
// holds, on which the proof rests: follow a plan of s and let the factors answer one after the other; every answer
// disturbs the factors that have answered before by no more than a known value.
struct SimulationOptions {
    bool strict = true;
    bool tau = true;            // internal moves at all
    bool recursive_tau = true;  // also labels whose other factors can walk back
    bool noop_tau = false;      // also labels that other factors do not mind; no proof that this is sound
    // A value without end falls a little in every round. Values below -truncate, and those of rows that were lowered more
    // often than max_drops, are taken for -infinity. That is below the solution and thus sound.
    Cost truncate = 1000;
    std::uint32_t max_drops = 200;
    std::uint64_t max_steps = 2'000'000'000;  // a factor, about one entry read each
    std::uint64_t max_cells = std::uint64_t{1} << 24;  // of a table; larger factors get the identity
    int threads = 1;
};

// Why a factor has less than the solution.
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

// `limits.seconds` is a safety net: all factors that are not done then fall back.
Simulation simulate(const Factoring &factoring, const SimulationOptions &options, const Limits &limits);

// What it is worth to the other factors that one factor answers the label `challenge` by the label `answer`, or by nothing.
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
