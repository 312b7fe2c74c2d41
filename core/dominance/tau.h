#pragma once

#include <cstdint>
#include <vector>

#include "dominance/lts.h"

namespace misstep::dominance {

// A label that costs more than this as an internal move is not used as one. So paths of internal moves cost less than 2^56,
// since factors that have internal moves have fewer than 2^16 states.
inline constexpr Cost MAX_TAU_COST = Cost{1} << 40;
inline constexpr int MAX_TAU_STATES = 1 << 16;

// The internal moves of one factor, and the costs of the cheapest paths of internal moves between its states.
struct Tau {
    struct Edge {
        int from;
        Cost cost;
    };
    std::vector<Cost> label_cost;  // by position in Lts::labels(); INFINITE_COST: no internal move
    std::vector<Cost> distance;    // size * size, from * size + to; empty: every state reaches only itself
    std::vector<int> first;        // edges into a state: [first[s], first[s + 1]) of `edges`
    std::vector<Edge> edges;
    Cost there_and_back = INFINITE_COST;  // from any state to any other and back, if all states are connected

    bool trivial() const { return distance.empty(); }
    Cost at(int from, int to, int size) const {
        return trivial() ? (from == to ? 0 : INFINITE_COST) : distance[static_cast<std::size_t>(from) * size + to];
    }
};

struct TauOptions {
    bool enabled = true;
    bool recursive = true;
    std::uint64_t max_cells;  // factors with a larger table have no internal moves
    std::uint64_t max_steps;  // factors whose distances would take more steps have no internal moves
};

// Internal moves: labels that one factor may use without changing the others.
//
// Either the label changes no other factor, or the factors that it changes can return: a factor whose internal moves connect all
// its states goes to a state where the label applies, applies it, and goes back. This makes more factors connected, so it is
// repeated. The internal moves of different factors do not affect each other, which the soundness proof needs.
class TauSystem {
   public:
    TauSystem(const std::vector<Lts> &factors, const std::vector<Cost> &costs, const TauOptions &options);

    const Tau &operator[](int factor) const { return taus_[factor]; }

    // Makes the label (by position in the factor) an internal move at that cost, if it is not a cheaper one already. `close` has to
    // be called afterwards.
    bool offer(int factor, int position, Cost cost);
    void close();

   private:
    struct Use {
        int factor;
        int position;
        bool moves;  // false: it has only a loop at each state
    };
    void compute_distances(int factor);
    Cost recursive_cost(int label, int factor) const;

    const std::vector<Lts> &factors_;
    const std::vector<Cost> &costs_;
    TauOptions options_;
    std::vector<std::vector<Use>> uses_;  // by label
    std::vector<Tau> taus_;
    std::vector<char> dirty_;
    std::vector<char> excluded_;  // factors without internal moves, because they would take too long
};

}  // namespace misstep::dominance
