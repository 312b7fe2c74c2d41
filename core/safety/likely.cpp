#include "safety/likely.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/interrupt.h"
#include "safety/mean.h"

namespace misstep::safety {

namespace {

double weight_of(const Game &chain, std::uint64_t edge) {
    double sum = 0;
    for (std::uint64_t o = chain.outcomes_of[edge]; o < chain.outcomes_of[edge + 1]; ++o) sum += chain.weights[o];
    return sum;
}

double mean_of(const Game &chain, std::uint64_t edge, const std::vector<double> &values) {
    double sum = 0;
    for (std::uint64_t o = chain.outcomes_of[edge]; o < chain.outcomes_of[edge + 1]; ++o)
        sum += chain.weights[o] * values[chain.outcomes[o]];
    return sum / weight_of(chain, edge);
}

std::uint64_t first_edge(const Game &chain, StateId s) { return chain.edges_of[chain.labels_of[s]]; }
std::uint64_t last_edge(const Game &chain, StateId s) { return chain.edges_of[chain.labels_of[s + 1]]; }

// The edges that the environment takes, as flows from a state to its outcomes.
class Flow {
   public:
    Flow(const Game &chain, const std::vector<double> &values) : chain_(chain), values_(values) {}

    // `amount` is how often runs enter the state. Returns how often they are there, which is more if an edge may stay in the state,
    // and adds what flows on to other states.
    template <class Add>
    double out_of(StateId s, double amount, Add &&add) const {
        if (values_[s] <= 0 || chain_.labels_of[s] == chain_.labels_of[s + 1]) return amount;
        std::uint64_t worst = first_edge(chain_, s);
        if (last_edge(chain_, s) - worst > 1) {
            double most = -1;
            for (std::uint64_t e = first_edge(chain_, s); e < last_edge(chain_, s); ++e)
                if (const double mean = mean_of(chain_, e, values_); mean > most) {
                    most = mean;
                    worst = e;
                }
        }
        double sum = 0, leaving = 0;
        for (std::uint64_t o = chain_.outcomes_of[worst]; o < chain_.outcomes_of[worst + 1]; ++o) {
            sum += chain_.weights[o];
            if (chain_.outcomes[o] != s) leaving += chain_.weights[o];
        }
        if (leaving <= 0) return amount;
        for (std::uint64_t o = chain_.outcomes_of[worst]; o < chain_.outcomes_of[worst + 1]; ++o)
            if (chain_.outcomes[o] != s) add(chain_.outcomes[o], amount * chain_.weights[o] / leaving);
        return amount * sum / leaving;
    }

   private:
    const Game &chain_;
    const std::vector<double> &values_;
};

}  // namespace

Bounds decision_values(const Game &chain, const Bounds &least) {
    Bounds result;
    result.low.assign(chain.size(), 0);
    result.high.assign(chain.size(), 0);
    for (StateId s = 0; s < chain.size(); ++s)
        for (std::uint64_t e = first_edge(chain, s); e < last_edge(chain, s); ++e) {
            result.low[s] = std::max(result.low[s], edge_mean<false>(chain, e, least.low));
            result.high[s] = std::max(result.high[s], edge_mean<true>(chain, e, least.high));
        }
    return result;
}

// Components are visited in the order in which runs pass through them. Inside a component the flow along cycles tends to 0, since
// runs can leave it from each of its states.
std::vector<double> expected_visits(const Game &chain, std::span<const StateId> starts,
                                    const std::vector<double> &values, const Limits &limits) {
    constexpr std::uint64_t MOST = 20'000'000;  // states looked at again in one component
    std::vector<double> visits(chain.size(), 0), flowing(chain.size(), 0);
    if (starts.empty()) return visits;
    const Flow flow(chain, values);
    const Components components = ComponentSearch(chain).all();
    for (StateId start : starts) flowing[start] += 1.0 / static_cast<double>(starts.size());
    LimitWatch watch(limits);
    Progress progress;
    for (std::size_t c = components.count(); c-- > 0;) {
        const std::span<const StateId> states = components.of(c);
        const std::uint64_t rounds = 1 + (states.size() == 1 ? 0 : MOST / states.size());
        for (std::uint64_t round = 0; round < rounds; ++round) {
            double left = 0;
            for (auto s = states.rbegin(); s != states.rend(); ++s) {
                const double amount = flowing[*s];
                if (amount == 0) continue;
                if (watch.check(progress, [&] { return chain.bytes(); }) != Limit::none) return visits;
                flowing[*s] = 0;
                visits[*s] += flow.out_of(*s, amount, [&](StateId t, double part) { flowing[t] += part; });
                left += amount;
            }
            if (left < 1e-12) break;
        }
    }
    for (StateId s = 0; s < chain.size(); ++s)
        if (values[s] <= 0) visits[s] = 0;
    return visits;
}

// Dijkstra's search for shortest paths, where the length of a step is the negative logarithm of its probability.
LikelyRun most_likely_unsafe_run(const Game &chain, std::span<const StateId> starts) {
    std::vector<double> length(chain.size(), INFINITY);
    std::vector<StateId> parent(chain.size(), NO_STATE);
    using Entry = std::pair<double, StateId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (StateId start : starts) {
        length[start] = 0;
        queue.emplace(0, start);
    }
    LikelyRun run;
    while (!queue.empty()) {
        let_interrupt();
        const auto [distance, s] = queue.top();
        queue.pop();
        if (distance > length[s]) continue;
        if (chain.kinds[s] == Game::UNSAFE) {
            for (StateId at = s; at != NO_STATE; at = parent[at]) run.states.push_back(at);
            std::reverse(run.states.begin(), run.states.end());
            run.probability = std::exp(-distance);
            return run;
        }
        for (std::uint64_t e = first_edge(chain, s); e < last_edge(chain, s); ++e) {
            const double sum = weight_of(chain, e);
            for (std::uint64_t o = chain.outcomes_of[e]; o < chain.outcomes_of[e + 1]; ++o) {
                if (chain.weights[o] <= 0) continue;
                const StateId t = chain.outcomes[o];
                const double longer = distance + std::max(0.0, std::log(sum) - std::log(chain.weights[o]));
                if (longer >= length[t]) continue;
                length[t] = longer;
                parent[t] = s;
                queue.emplace(longer, t);
            }
        }
    }
    return run;
}

}  // namespace misstep::safety
