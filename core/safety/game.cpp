#include "safety/game.h"

#include <cmath>

namespace misstep::safety {

namespace {
void check_offsets(std::span<const std::uint64_t> offsets, std::size_t owners, std::size_t end) {
    if (offsets.size() != owners + 1 || offsets.front() != 0 || offsets.back() != end)
        throw std::invalid_argument("the offsets of a game do not fit its arrays");
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
        if (offsets[i] > offsets[i + 1]) throw std::invalid_argument("the offsets of a game go down");
}
}  // namespace

void Game::check() const {
    check_offsets(labels_of, size(), labels.size());
    if (outcomes_of.empty()) throw std::invalid_argument("the offsets of a game do not fit its arrays");
    check_offsets(edges_of, labels.size(), edge_count());
    check_offsets(outcomes_of, edge_count(), outcomes.size());
    if (weights.size() != outcomes.size()) throw std::invalid_argument("an outcome has no weight");
    for (std::size_t l = 0; l < labels.size(); ++l)
        if (edges_of[l] == edges_of[l + 1]) throw std::invalid_argument("a label has no edge");
    for (std::uint64_t e = 0; e < edge_count(); ++e) {
        double sum = 0;
        for (std::uint64_t o = outcomes_of[e]; o < outcomes_of[e + 1]; ++o) sum += weights[o];
        if (!(sum > 0) || !std::isfinite(sum))
            throw std::invalid_argument("the weights of an edge have no positive sum");
    }
    for (StateId outcome : outcomes)
        if (outcome >= size()) throw std::invalid_argument("an outcome is no state");
    for (double weight : weights)
        if (!(weight > 0)) throw std::invalid_argument("a weight is not positive");
    for (StateId s = 0; s < size(); ++s)
        if (kinds[s] > STOP || (kinds[s] == INNER) == (labels_of[s] == labels_of[s + 1]))
            throw std::invalid_argument("a state has labels and should have none, or the other way round");
}

Game Game::under(std::span<const std::int64_t> choices) const {
    Game result;
    result.kinds = kinds;
    result.factors = factors;
    result.labels_of.reserve(size() + 1);
    for (StateId s = 0; s < size(); ++s) {
        if (kinds[s] == INNER && choices[s] < 0) result.kinds[s] = STOP;
        else if (kinds[s] == INNER) {
            const std::uint64_t label = labels_of[s] + static_cast<std::uint64_t>(choices[s]);
            if (label >= labels_of[s + 1]) throw std::invalid_argument("a state has fewer labels than that");
            result.labels.push_back(labels[label]);
            for (std::uint64_t e = edges_of[label]; e < edges_of[label + 1]; ++e) {
                for (std::uint64_t o = outcomes_of[e]; o < outcomes_of[e + 1]; ++o) {
                    result.outcomes.push_back(outcomes[o]);
                    result.weights.push_back(weights[o]);
                }
                result.outcomes_of.push_back(result.outcomes.size());
            }
            result.edges_of.push_back(result.outcomes_of.size() - 1);
        }
        result.labels_of.push_back(result.labels.size());
    }
    return result;
}

}  // namespace misstep::safety
