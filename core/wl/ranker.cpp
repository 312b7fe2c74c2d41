#include "wl/ranker.h"

#include <algorithm>
#include <stdexcept>

namespace misstep {

std::size_t WlRanker::Hash::operator()(const std::vector<int> &key) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15U + key.size();
    for (int part : key) {
        hash = (hash ^ static_cast<std::uint32_t>(part)) * 0xff51afd7ed558ccdU;
        hash ^= hash >> 32;
    }
    return hash;
}

WlRanker::WlRanker(const Task &task, Structure structure, std::vector<Layer> layers, bool multiset,
                   std::vector<double> weights)
    : task_(task),
      structure_(std::move(structure)),
      layers_(std::move(layers)),
      multiset_(multiset),
      weights_(std::move(weights)) {
    check();
    for (int colour : structure_.node_colours) constant_ += weight(colour);
    for (std::size_t fact = 0; fact < structure_.fact_colours.size(); ++fact) {
        const int goal = structure_.fact_goals[fact];
        const double before = goal < 0 ? 0 : weight(structure_.node_colours[static_cast<std::size_t>(goal)]);
        const int colour = structure_.fact_colours[fact];
        fact_weights_.push_back(colour == ABSENT ? 0 : weight(colour) - before);
    }
    for (std::size_t node = 0; node < structure_.node_colours.size(); ++node)
        add_edges(constant_edges_, structure_.node_terms.of(node), static_cast<int>(node));
}

void WlRanker::check() const {
    const auto fail = [](const char *what) { throw std::invalid_argument(what); };
    const auto nodes = structure_.node_colours.size();
    const auto facts = static_cast<std::size_t>(task_.fact_count());
    const auto check_colour = [&](int colour, int lowest) {
        if (colour < lowest || colour >= static_cast<int>(weights_.size())) fail("a colour without a weight");
    };
    const auto check_terms = [&](const Terms &terms, std::size_t items) {
        if (terms.offsets.size() != items + 1 || terms.offsets.front() != 0 ||
            !std::is_sorted(terms.offsets.begin(), terms.offsets.end()) ||
            terms.offsets.back() != static_cast<int>(terms.terms.size()))
            fail("arguments that do not fit");
        for (int term : terms.terms)
            if (term < 0 || term >= structure_.objects) fail("an argument that is no object");
    };
    if (structure_.objects < 0 || static_cast<std::size_t>(structure_.objects) > nodes) fail("more objects than nodes");
    if (structure_.fact_goals.size() != facts || structure_.fact_colours.size() != facts)
        fail("as many colours as facts are needed");
    check_terms(structure_.node_terms, nodes);
    check_terms(structure_.fact_terms, facts);
    for (int colour : structure_.node_colours) check_colour(colour, UNSEEN);
    for (int colour : structure_.fact_colours) check_colour(colour, ABSENT);
    for (int goal : structure_.fact_goals)
        if (goal < -1 || goal >= static_cast<int>(nodes)) fail("a goal that is no node");
    for (const Layer &layer : layers_)
        for (const auto &[key, colour] : layer) check_colour(colour, 0);
}

double WlRanker::value(const int *state) {
    if (layers_.empty()) return quick_value(state);
    build(state);
    double sum = 0;
    for (int colour : colours_) sum += weight(colour);
    next_.resize(colours_.size());
    const auto objects = static_cast<std::size_t>(structure_.objects);
    const std::size_t constant = structure_.node_colours.size();
    for (const Layer &layer : layers_) {
        for (std::size_t node = 0; node < colours_.size(); ++node) {
            neighbours_.clear();
            if (node < objects) {
                for (std::size_t e = begin_[node]; e < begin_[node + 1]; ++e)
                    neighbours_.push_back(
                        {by_object_[e].position, colours_[static_cast<std::size_t>(by_object_[e].node)]});
            } else {
                const std::span<const int> terms =
                    node < constant ? structure_.node_terms.of(node)
                                    : structure_.fact_terms.of(static_cast<std::size_t>(facts_[node - constant]));
                for (std::size_t i = 0; i < terms.size(); ++i)
                    neighbours_.push_back({static_cast<int>(i), colours_[static_cast<std::size_t>(terms[i])]});
            }
            next_[node] = refined(layer, colours_[node]);
            sum += weight(next_[node]);
        }
        colours_.swap(next_);
    }
    return sum;
}

double WlRanker::quick_value(const int *state) const {
    double sum = constant_;
    for (int v = 0; v < task_.variable_count(); ++v)
        sum += fact_weights_[static_cast<std::size_t>(task_.fact_id({v, state[v]}))];
    return sum;
}

void WlRanker::build(const int *state) {
    colours_ = structure_.node_colours;
    edges_ = constant_edges_;
    facts_.clear();
    for (int v = 0; v < task_.variable_count(); ++v) {
        const auto fact = static_cast<std::size_t>(task_.fact_id({v, state[v]}));
        const int colour = structure_.fact_colours[fact];
        if (colour == ABSENT) continue;
        if (const int goal = structure_.fact_goals[fact]; goal >= 0) {
            colours_[static_cast<std::size_t>(goal)] = colour;
            continue;
        }
        add_edges(edges_, structure_.fact_terms.of(fact), static_cast<int>(colours_.size()));
        colours_.push_back(colour);
        facts_.push_back(static_cast<int>(fact));
    }
    sort_edges();
}

void WlRanker::add_edges(std::vector<Edge> &edges, std::span<const int> terms, int node) const {
    for (std::size_t i = 0; i < terms.size(); ++i) edges.push_back({terms[i], static_cast<int>(i), node});
}

void WlRanker::sort_edges() {
    const auto objects = static_cast<std::size_t>(structure_.objects);
    begin_.assign(objects + 2, 0);
    for (const Edge &edge : edges_) ++begin_[static_cast<std::size_t>(edge.object) + 2];
    for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    by_object_.resize(edges_.size());
    for (const Edge &edge : edges_) by_object_[begin_[static_cast<std::size_t>(edge.object) + 1]++] = edge;
}

int WlRanker::refined(const Layer &layer, int own) {
    if (own == UNSEEN) return UNSEEN;
    for (const Neighbour &neighbour : neighbours_)
        if (neighbour.colour == UNSEEN) return UNSEEN;
    std::sort(neighbours_.begin(), neighbours_.end());
    key_.assign(1, own);
    for (std::size_t i = 0; i < neighbours_.size();) {
        std::size_t end = i + 1;
        while (end < neighbours_.size() && neighbours_[end] == neighbours_[i]) ++end;
        key_.push_back(neighbours_[i].position);
        key_.push_back(neighbours_[i].colour);
        key_.push_back(multiset_ ? static_cast<int>(end - i) : 1);
        i = end;
    }
    const auto found = layer.find(key_);
    return found == layer.end() ? UNSEEN : found->second;
}

}  // namespace misstep
