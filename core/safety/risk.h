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
//     positive. It never leaves the interval between the least and the largest of its values, which is exact.
//   - From below, iteration from 0 never passes the least solution.
//   - From above, iteration from 1 never passes a solution, but it need not reach the least one. So states from which unsafe
//     states can be avoided for certain are found in the graph and have the value 0. An end component of a chain, in which the
//     environment can stay for ever, is treated as one unit, which has the value of its worst exit. Where there is a choice both of
//     labels and of edges, the strategy that the lower bounds suggest is fixed, and its chain is solved: its risk is an upper bound.
//   - Components that converge slowly get guesses, which are used only if a sweep confirms them: a vector that no state's equation
//     raises is above the least solution (Knaster and Tarski), and one that no equation lowers is below it where the solution is
//     unique.
// `open` states count as 0 below and as 1 above.
struct Bounds {
    std::vector<double> low, high;
    std::uint64_t sweeps = 0;  // the largest number of sweeps over one component
    Limit limit = Limit::none;  // other than none: the bounds hold but may be farther apart than the precision asks for
};

// Solutions of the equations of a component for fixed choices, with the states behind it at their lower and at their upper bounds,
// and the expected number of steps until the component is left.
struct LinearGuess {
    std::vector<double> low, high, steps;
};

class RiskSolver {
   public:
    // `precision`: the distance that the bounds shall have at most.
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
    std::vector<std::uint8_t> lost_;  // no label avoids unsafe and open states for certain
    std::vector<std::uint32_t> component_;
    std::vector<StateId> unit_;  // of a state: the one that stands for its end component
    std::vector<std::vector<StateId>>
        groups_;  // end components of the current component; the first state stands for all
    std::vector<std::uint32_t> group_;  // of a state that stands for an end component
    std::vector<StateId> units_;  // of the current component
    std::vector<double> before_;  // low, some sweeps ago, by unit
    bool undecided_ = false;  // a component has choices of both kinds, and its bounds are apart
};

// Bounds on the risk, of a game or of a chain.
Bounds risk_bounds(const Game &game, double precision, const Limits &limits, std::vector<std::int64_t> *strategy);

// Bounds on the probability of reaching an unsafe state within the given number of steps.
Bounds risk_within(const Game &game, std::uint64_t steps, const Limits &limits);

}  // namespace misstep::safety
