#pragma once

#include "base/limits.h"
#include "safety/components.h"

namespace misstep::safety {

// The probability of becoming unsafe, with bounds that hold in floating point.
//
// The risk of a state is the least solution of V(s) = min over labels of max over edges of the mean of V over the edge's
// outcomes, with V = 1 in unsafe states and 0 in goals and dead ends. Under a policy a state has one label, and the same
// equations give the policy's risk. The environment chooses edges so that the risk is largest.
//
// Bounds come from below and from above at once (interval iteration), component by component. What makes them sound:
//   - A mean is computed once and moved outward by more than its rounding errors, which are relative, because all terms are
//     positive; and it never leaves the interval of what it is the mean of, which is exact.
//   - From below, iteration from 0 never passes the least solution.
//   - From above, iteration from 1 never passes a solution; that it gets to the least one takes care. States from which unsafety
//     can be avoided for sure are found by their graph and have 0. Where the environment can go round in circles in a
//     chain, the circle (end component) is one unit, which has the value of its best exit. Where labels and edges both have a
//     choice, the strategy that the lower bound suggests is fixed, and its chain is solved: its risk is an upper bound.
//   - Slow components are helped by guesses, which count only if one sweep confirms them: a vector that no state's equation
//     raises is above the least solution (Knaster and Tarski); one that no equation lowers is below it where the solution is
//     the only one.
// `open` states count as 0 below and as 1 above.
struct Bounds {
    std::vector<double> low, high;
    std::uint64_t sweeps = 0;  // over components, the longest count of one
    Limit limit = Limit::none;  // other than none: the bounds hold and are not as close as they could be
};

// Solutions of the equations of a component for fixed choices: with what is behind it at its lower and at its upper bound, and
// how many steps it takes to leave.
struct LinearGuess {
    std::vector<double> low, high, steps;
};

class RiskSolver {
   public:
    // `precision`: how close the bounds shall come to each other.
    RiskSolver(const Game &game, double precision, const Limits &limits);

    Bounds solve();
    // After `solve`: for each inner state the position of the label with the least bound, STOPS for others.
    std::vector<std::int64_t> strategy(bool by_high) const;

   private:
    double label_value(std::uint64_t label, StateId owner, const std::vector<double> &values, bool up) const;
    template <bool UP>
    double edge_value(std::uint64_t edge, StateId self, const std::vector<double> &values) const;
    template <bool UP>
    double state_value(StateId s, const std::vector<double> &values) const;
    template <bool UP>
    double unit_value(StateId s, const std::vector<double> &values) const;

    void solve_component(std::size_t c, std::span<const StateId> states);
    void find_lost(std::span<const StateId> states);
    bool collapse();
    void iterate(std::size_t c, bool unique);
    double gap_behind(std::size_t c) const;
    bool sweep(bool backward, double &change);
    bool guess(double rate, bool unique);
    bool guess_directly(bool unique);
    std::uint64_t chosen_edge(StateId unit) const;
    bool linear_guess(const std::vector<std::uint64_t> &edges, LinearGuess &result) const;
    template <bool UP>
    bool confirmed(std::vector<double> &values, const std::vector<double> &limits, const std::vector<double> &widths,
                   double margin);
    void put(StateId unit, std::vector<double> &values, double value) const;
    void improve();

    const Game &game_;
    const double precision_;
    const Limits &limits_;
    LimitWatch watch_;
    Progress progress_;
    ComponentSearch search_;
    Bounds bounds_;
    std::vector<std::uint8_t> lost_;            // cannot avoid unsafe and open states for sure
    std::vector<std::uint32_t> component_;
    std::vector<StateId> unit_;                 // of a state: the one that stands for its end component
    std::vector<std::vector<StateId>>
        groups_;  // end components of the component at work, first the one that stands for all
    std::vector<std::uint32_t> group_;          // of a state that stands for an end component
    std::vector<StateId> units_;                // of the component at work
    std::vector<double> before_;                // low, some sweeps ago, by unit
    bool undecided_ = false;                    // some component has choices of both kinds, and its bounds are apart
};

// Bounds on the risk, of a game or of a chain.
Bounds risk_bounds(const Game &game, double precision, const Limits &limits, std::vector<std::int64_t> *strategy);

// Bounds on the probability to get unsafe within so many steps.
Bounds risk_within(const Game &game, std::uint64_t steps, const Limits &limits);

}  // namespace misstep::safety
