#include "safety/risk.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "safety/mean.h"

namespace misstep::safety {

namespace {

constexpr std::uint32_t NO_GROUP = ~0U;
constexpr std::uint64_t MAX_SWEEPS = 200'000;
constexpr std::uint64_t FIRST_GUESS = 32;  // sweeps
constexpr int ROUNDS = 4;
constexpr int IMPROVEMENTS = 8;
constexpr int ATTEMPTS = 8;
constexpr std::size_t MOST_DIRECT = 400;  // units of a component whose equations are solved by elimination
constexpr double SHARE = 1e-3;  // the part of the precision that one component may use up

bool is_lost_label(const Game &game, std::uint64_t label, const std::vector<std::uint8_t> &lost) {
    for (std::uint64_t o = game.outcomes_of[game.edges_of[label]]; o < game.outcomes_of[game.edges_of[label + 1]]; ++o)
        if (lost[game.outcomes[o]] != 0) return true;
    return false;
}

}  // namespace

RiskSolver::RiskSolver(const Game &game, double precision, const Limits &limits)
    : game_(game), precision_(precision), limits_(limits), watch_(limits_), search_(game) {
    const std::size_t n = game.size();
    bounds_.low.assign(n, 0);
    bounds_.high.assign(n, 1);
    lost_.assign(n, 0);
    unit_.resize(n);
    for (StateId s = 0; s < n; ++s) {
        unit_[s] = s;
        const std::uint8_t kind = game.kinds[s];
        if (kind == Game::UNSAFE) bounds_.low[s] = 1;
        if (kind == Game::GOAL || kind == Game::DEAD_END || kind == Game::STOP) bounds_.high[s] = 0;
        lost_[s] = kind == Game::UNSAFE || kind == Game::OPEN;
    }
}

// Outcomes that stay in the unit are left out, since the run continues until it leaves the unit. Below 0: the edge never leaves.
template <bool UP>
double RiskSolver::edge_value(std::uint64_t edge, StateId self, const std::vector<double> &values) const {
    return edge_mean<UP>(game_, edge, values, [&](StateId t) { return unit_[t] == self; });
}

double RiskSolver::label_value(std::uint64_t label, StateId owner, const std::vector<double> &values, bool up) const {
    double worst = 0;
    for (std::uint64_t e = game_.edges_of[label]; e < game_.edges_of[label + 1]; ++e)
        worst = std::max(worst,
                         up ? edge_value<true>(e, unit_[owner], values) : edge_value<false>(e, unit_[owner], values));
    return worst;
}

template <bool UP>
double RiskSolver::state_value(StateId s, const std::vector<double> &values) const {
    double best = 1;
    for (std::uint64_t label = game_.labels_of[s]; label < game_.labels_of[s + 1]; ++label)
        best = std::min(best, label_value(label, s, values, UP));
    return best;
}

template <bool UP>
double RiskSolver::unit_value(StateId s, const std::vector<double> &values) const {
    if (group_.empty() || group_[s] == NO_GROUP) return state_value<UP>(s, values);
    double best = 0;
    for (StateId member : groups_[group_[s]]) best = std::max(best, state_value<UP>(member, values));
    return best;
}

void RiskSolver::put(StateId unit, std::vector<double> &values, double value) const {
    if (group_.empty() || group_[unit] == NO_GROUP) values[unit] = value;
    else
        for (StateId member : groups_[group_[unit]]) values[member] = value;
}

Bounds RiskSolver::solve() {
    const Components components = search_.all();
    component_.resize(game_.size());
    for (std::size_t c = 0; c < components.count(); ++c)
        for (StateId s : components.of(c)) component_[s] = static_cast<std::uint32_t>(c);
    for (std::size_t c = 0; c < components.count() && bounds_.limit == Limit::none; ++c)
        solve_component(c, components.of(c));
    if (undecided_ && bounds_.limit == Limit::none) {
        improve();
    }
    return bounds_;
}

// The risk of any strategy is an upper bound. The first strategy follows the lower bounds, later ones follow the upper bounds.
void RiskSolver::improve() {
    for (int round = 0; round < ROUNDS && bounds_.limit == Limit::none; ++round) {
        const Game chain = game_.under(strategy(round > 0));
        const Bounds fixed = RiskSolver(chain, precision_, limits_).solve();
        bounds_.limit = fixed.limit;
        double gap = 0;
        for (StateId s = 0; s < game_.size(); ++s) {
            bounds_.high[s] = std::min(bounds_.high[s], fixed.high[s]);
            gap = std::max(gap, bounds_.high[s] - bounds_.low[s]);
        }
        if (gap <= precision_) return;
    }
}

void RiskSolver::solve_component(std::size_t c, std::span<const StateId> states) {
    bounds_.limit = watch_.check(progress_, [&] { return game_.bytes(); });
    if (bounds_.limit != Limit::none) return;
    progress_.expansions += states.size();
    if (game_.kinds[states.front()] != Game::INNER) return;
    find_lost(states);
    units_.clear();
    for (StateId s : states) {
        if (lost_[s] == 0) bounds_.high[s] = 0;
        else units_.push_back(s);
    }
    if (units_.empty()) return;
    if (states.size() == 1) {
        const StateId s = states.front();
        bounds_.low[s] = state_value<false>(s, bounds_.low);
        bounds_.high[s] = state_value<true>(s, bounds_.high);
        return;
    }
    const bool unique = collapse();
    iterate(c, unique);
    for (const std::vector<StateId> &group : groups_) group_[group.front()] = NO_GROUP;
    groups_.clear();
}

// A state is lost if each of its labels has an outcome that is lost. States outside the least such set can avoid unsafe and open
// states for certain.
void RiskSolver::find_lost(std::span<const StateId> states) {
    const auto add = [&](StateId s) {
        if (lost_[s] != 0) return false;
        for (std::uint64_t label = game_.labels_of[s]; label < game_.labels_of[s + 1]; ++label)
            if (!is_lost_label(game_, label, lost_)) return false;
        lost_[s] = 1;
        return true;
    };
    for (bool more = true; more;) {
        more = false;
        for (StateId s : states) more = add(s) || more;
        if (more && states.size() > 1)
            for (auto s = states.rbegin(); s != states.rend(); ++s) add(*s);
    }
}

// Makes each end component, in which the environment can stay for ever, one unit. Returns whether the equations of the component
// then have only one solution.
bool RiskSolver::collapse() {
    bool labels = false, edges = false;
    for (StateId s : units_) {
        const std::uint64_t first = game_.labels_of[s], last = game_.labels_of[s + 1];
        labels = labels || last - first > 1;
        edges = edges || game_.edges_of[last] - game_.edges_of[first] > last - first;
    }
    if (!edges) return true;
    if (labels) return false;
    groups_ = search_.end_components(units_);
    if (groups_.empty()) return true;
    if (group_.empty()) group_.assign(game_.size(), NO_GROUP);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        group_[groups_[g].front()] = static_cast<std::uint32_t>(g);
        for (StateId member : groups_[g]) unit_[member] = groups_[g].front();
    }
    std::erase_if(units_, [&](StateId s) { return unit_[s] != s; });
    return true;
}

double RiskSolver::gap_behind(std::size_t c) const {
    double gap = 0;
    for (StateId s : units_)
        for (std::uint64_t o = game_.first_outcome(s); o < game_.last_outcome(s); ++o)
            if (const StateId t = game_.outcomes[o]; component_[t] != c)
                gap = std::max(gap, bounds_.high[t] - bounds_.low[t]);
    return gap;
}

// Updates both bounds of all units once, in place. False if a limit was reached.
bool RiskSolver::sweep(bool backward, double &change) {
    change = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
        const StateId s = units_[backward ? units_.size() - 1 - i : i];
        bounds_.limit = watch_.check(progress_, [&] { return game_.bytes(); });
        if (bounds_.limit != Limit::none) return false;
        const double low = std::max(bounds_.low[s], unit_value<false>(s, bounds_.low));
        const double high = std::min(bounds_.high[s], unit_value<true>(s, bounds_.high));
        change = std::max({change, low - bounds_.low[s], bounds_.high[s] - high});
        put(s, bounds_.low, low);
        put(s, bounds_.high, high);
    }
    return true;
}

void RiskSolver::iterate(std::size_t c, bool unique) {
    const double behind = gap_behind(c);
    const bool closes = behind <= precision_;  // otherwise the states behind keep the bounds apart
    const auto gap = [&] {
        double widest = 0;
        for (StateId s : units_) widest = std::max(widest, bounds_.high[s] - bounds_.low[s]);
        return widest;
    };
    double last_gap = 1;
    before_.assign(units_.size(), 0);
    std::uint64_t sweeps = 0, wait = FIRST_GUESS, guess_at = FIRST_GUESS;
    while (sweeps < MAX_SWEEPS) {
        double change = 0;
        if (!sweep(sweeps % 2 == 1, change)) return;
        bounds_.sweeps = std::max(bounds_.sweeps, ++sweeps);
        const double now = gap();
        if (change == 0 || (closes && now <= behind + SHARE * precision_)) break;
        if ((!closes || !unique) && change <= SHARE * SHARE * precision_) break;
        if (sweeps < guess_at) continue;
        const bool better = guess(std::min(now / last_gap, 0.999999), unique);
        const double after = better ? gap() : now;
        if (after <= behind + precision_ && after > 0.7 * last_gap) break;  // only rounding keeps the bounds apart
        // With more sweeps, the errors of all units shrink at more similar rates, which makes a guess better. After a good guess
        // the waiting time starts again from its first value.
        wait = after < 0.1 * now ? FIRST_GUESS : 2 * wait;
        guess_at = sweeps + wait;
        last_gap = after;
        for (std::size_t i = 0; i < units_.size(); ++i) before_[i] = bounds_.low[units_[i]];
    }
    if (!unique && gap() > behind + SHARE * precision_) undecided_ = true;
}

// All errors shrink by about the factor `rate` between two guesses. Extrapolation gives the values where the bounds will meet. The
// guesses are vectors a little above and below these values, in proportion to the distances of the bounds.
bool RiskSolver::guess(double rate, bool unique) {
    if (units_.size() <= MOST_DIRECT && guess_directly(unique)) return true;
    std::vector<double> limits(units_.size()), widths(units_.size());
    for (std::size_t i = 0; i < units_.size(); ++i) {
        const StateId s = units_[i];
        widths[i] = bounds_.high[s] - bounds_.low[s];
        limits[i] = bounds_.low[s] + (bounds_.low[s] - before_[i]) * rate / (1 - rate);
    }
    bool above = false, below = !unique;
    for (const double margin : {0.003, 0.03, 0.2}) {
        if (!above) above = confirmed<true>(bounds_.high, limits, widths, margin);
        if (!below) below = confirmed<false>(bounds_.low, limits, widths, -margin);
        if (above && below) return true;
    }
    return above || (below && unique);
}

// The edge that decides the value of a unit, by the lower bounds.
std::uint64_t RiskSolver::chosen_edge(StateId unit) const {
    const bool is_group = !group_.empty() && group_[unit] != NO_GROUP;
    const std::span<const StateId> members =
        is_group ? std::span<const StateId>(groups_[group_[unit]]) : std::span<const StateId>(&unit, 1);
    std::uint64_t chosen = 0;
    double of_members = -1;
    for (StateId s : members) {
        std::uint64_t of_state = 0;
        double best = 3;
        for (std::uint64_t label = game_.labels_of[s]; label < game_.labels_of[s + 1]; ++label) {
            std::uint64_t of_label = game_.edges_of[label];
            double worst = -2;
            for (std::uint64_t e = game_.edges_of[label]; e < game_.edges_of[label + 1]; ++e)
                if (const double value = edge_value<false>(e, unit, bounds_.low); value > worst) {
                    worst = value;
                    of_label = e;
                }
            if (worst < best) {
                best = worst;
                of_state = of_label;
            }
        }
        if (best > of_members) {
            of_members = best;
            chosen = of_state;
        }
    }
    return chosen;
}

// Gaussian elimination with pivoting. False if the equations have no unique solution.
bool RiskSolver::linear_guess(const std::vector<std::uint64_t> &edges, LinearGuess &result) const {
    const std::size_t n = units_.size(), width = n + 3;
    std::unordered_map<StateId, std::size_t> places;
    for (std::size_t i = 0; i < n; ++i) places[units_[i]] = i;
    std::vector<double> rows(n * width, 0);
    for (std::size_t i = 0; i < n; ++i) {
        double *row = rows.data() + i * width;
        double weight = 0;
        for (std::uint64_t o = game_.outcomes_of[edges[i]]; o < game_.outcomes_of[edges[i] + 1]; ++o)
            if (unit_[game_.outcomes[o]] != units_[i]) weight += game_.weights[o];
        if (!(weight > 0)) return false;
        row[i] = row[n + 2] = 1;
        for (std::uint64_t o = game_.outcomes_of[edges[i]]; o < game_.outcomes_of[edges[i] + 1]; ++o) {
            const StateId t = unit_[game_.outcomes[o]];
            if (t == units_[i]) continue;
            const double share = game_.weights[o] / weight;
            if (const auto place = places.find(t); place != places.end()) row[place->second] -= share;
            else {
                row[n] += share * bounds_.low[game_.outcomes[o]];
                row[n + 1] += share * bounds_.high[game_.outcomes[o]];
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t pivot = i;
        for (std::size_t k = i + 1; k < n; ++k)
            if (std::abs(rows[k * width + i]) > std::abs(rows[pivot * width + i])) pivot = k;
        if (std::abs(rows[pivot * width + i]) < 1e-14) return false;
        if (pivot != i) std::swap_ranges(&rows[i * width], &rows[i * width] + width, &rows[pivot * width]);
        for (std::size_t k = i + 1; k < n; ++k) {
            const double factor = rows[k * width + i] / rows[i * width + i];
            if (factor == 0) continue;
            for (std::size_t j = i; j < width; ++j) rows[k * width + j] -= factor * rows[i * width + j];
        }
    }
    for (std::vector<double> *part : {&result.low, &result.high, &result.steps}) {
        const std::size_t column = n + static_cast<std::size_t>(part == &result.low ? 0 : part == &result.high ? 1 : 2);
        part->assign(n, 0);
        for (std::size_t i = n; i-- > 0;) {
            double value = rows[i * width + column];
            for (std::size_t j = i + 1; j < n; ++j) value -= rows[i * width + j] * (*part)[j];
            (*part)[i] = value / rows[i * width + i];
        }
    }
    return true;
}

// Solves the equations for the choices that look best. The solution is moved outward by a little for each expected step, to allow
// for rounding in the sweep that confirms it. Later rounds improve the choices with the solution.
bool RiskSolver::guess_directly(bool unique) {
    bool above = false, below = !unique;
    std::vector<std::uint64_t> edges(units_.size()), before;
    LinearGuess found;
    for (int round = 0; round < IMPROVEMENTS; ++round) {
        std::vector<double> saved(units_.size());
        for (std::size_t i = 0; i < units_.size(); ++i) saved[i] = bounds_.low[units_[i]];
        if (round > 0)
            for (std::size_t i = 0; i < units_.size(); ++i)
                put(units_[i], bounds_.low, std::clamp(found.low[i], 0.0, 1.0));
        for (std::size_t i = 0; i < units_.size(); ++i) edges[i] = chosen_edge(units_[i]);
        for (std::size_t i = 0; i < units_.size(); ++i) put(units_[i], bounds_.low, saved[i]);
        if (edges == before || !linear_guess(edges, found)) break;
        before = edges;
        for (const double margin : {1e-14, 1e-13, 1e-12}) {
            if (!above) above = confirmed<true>(bounds_.high, found.high, found.steps, margin);
            if (!below) below = confirmed<false>(bounds_.low, found.low, found.steps, -margin);
        }
        if (above && below) return true;
    }
    return false;
}

// Replaces the bounds by the guess and sweeps a few times. If a sweep raises no value (from above) or lowers none (from below), the
// equations hold as inequalities for the resulting vector, and it is kept. Otherwise the old bounds are restored.
template <bool UP>
bool RiskSolver::confirmed(std::vector<double> &values, const std::vector<double> &limits,
                           const std::vector<double> &widths, double margin) {
    std::vector<double> saved(units_.size());
    for (std::size_t i = 0; i < units_.size(); ++i) {
        const StateId s = units_[i];
        saved[i] = values[s];
        const double guess = limits[i] + margin * widths[i];
        put(s, values, UP ? std::min(saved[i], guess) : std::max(saved[i], guess));
    }
    for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
        bool holds = true;
        for (std::size_t i = 0; i < units_.size(); ++i) {
            const StateId s = units_[attempt % 2 == 0 ? i : units_.size() - 1 - i];
            const double value = unit_value<UP>(s, values);
            holds = holds && (UP ? value <= values[s] : value >= values[s]);
            put(s, values, value);
        }
        if (!holds) continue;
        // Both vectors are bounds, so in each state the better value of the two is a bound.
        for (std::size_t i = 0; i < units_.size(); ++i)
            put(units_[i], values, UP ? std::min(saved[i], values[units_[i]]) : std::max(saved[i], values[units_[i]]));
        return true;
    }
    for (std::size_t i = 0; i < units_.size(); ++i) put(units_[i], values, saved[i]);
    return false;
}

std::vector<std::int64_t> RiskSolver::strategy(bool by_high) const {
    std::vector<std::int64_t> choices(game_.size(), Game::STOPS);
    const double lower = by_high ? 1e-6 : 1, upper = by_high ? 1 : 1e-6;  // the other bound breaks ties
    for (StateId s = 0; s < game_.size(); ++s) {
        if (game_.kinds[s] != Game::INNER) continue;
        double best = 3;
        for (std::uint64_t label = game_.labels_of[s]; label < game_.labels_of[s + 1]; ++label) {
            double value = 0;
            if (lost_[s] == 0) value = is_lost_label(game_, label, lost_) ? 2 : 0;
            else
                value = label_value(label, s, bounds_.low, false) * lower +
                        label_value(label, s, bounds_.high, true) * upper;
            if (value >= best) continue;
            best = value;
            choices[s] = static_cast<std::int64_t>(label - game_.labels_of[s]);
        }
    }
    return choices;
}

Bounds risk_bounds(const Game &game, double precision, const Limits &limits, std::vector<std::int64_t> *strategy) {
    RiskSolver solver(game, precision, limits);
    Bounds bounds = solver.solve();
    if (strategy != nullptr) *strategy = solver.strategy(true);
    return bounds;
}

namespace {

template <bool UP>
double after_step(const Game &game, StateId s, const std::vector<double> &values) {
    double best = 1;
    for (std::uint64_t label = game.labels_of[s]; label < game.labels_of[s + 1]; ++label) {
        double worst = 0;
        for (std::uint64_t e = game.edges_of[label]; e < game.edges_of[label + 1]; ++e)
            worst = std::max(worst, edge_mean<UP>(game, e, values));
        best = std::min(best, worst);
    }
    return best;
}

}  // namespace

Bounds risk_within(const Game &game, std::uint64_t steps, const Limits &limits) {
    Bounds bounds;
    LimitWatch watch(limits);
    Progress progress;
    for (StateId s = 0; s < game.size(); ++s) {
        bounds.low.push_back(game.kinds[s] == Game::UNSAFE);
        bounds.high.push_back(game.kinds[s] == Game::UNSAFE || game.kinds[s] == Game::OPEN);
    }
    std::vector<double> low = bounds.low, high = bounds.high;
    for (std::uint64_t step = 0; step < steps; ++step) {
        bool changed = false;
        for (StateId s = 0; s < game.size(); ++s) {
            if (game.kinds[s] != Game::INNER) continue;
            bounds.limit = watch.check(progress, [&] { return game.bytes(); });
            if (bounds.limit != Limit::none) {  // fewer steps have less risk, so the lower bounds still hold
                for (StateId t = 0; t < game.size(); ++t)
                    if (game.kinds[t] == Game::INNER) bounds.high[t] = 1;
                return bounds;
            }
            low[s] = after_step<false>(game, s, bounds.low);
            high[s] = after_step<true>(game, s, bounds.high);
            changed = changed || low[s] != bounds.low[s] || high[s] != bounds.high[s];
        }
        std::swap(low, bounds.low);
        std::swap(high, bounds.high);
        bounds.sweeps = step + 1;
        if (!changed) break;
    }
    return bounds;
}

}  // namespace misstep::safety
