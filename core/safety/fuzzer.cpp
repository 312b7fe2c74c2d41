#include "safety/fuzzer.h"

#include <algorithm>
#include <cmath>

namespace misstep::safety {

const char *name(RunEnd end) {
    switch (end) {
        case RunEnd::unsafe: return "unsafe";
        case RunEnd::exhausted: return "exhausted";
        case RunEnd::step_limit: return "step limit";
        case RunEnd::revisit: return "revisit";
    }
    return "exhausted";
}

// True if an unsafe state was met, which ends the lookahead.
bool Fuzzer::add_layer(std::uint32_t first, std::uint32_t end, std::uint32_t &unsafe) {
    layer_.clear();
    for (std::uint32_t i = first; i < end; ++i) layer_.push_back(entries_[i].state);
    if (layer_.size() > 1) system_.prepare(layer_);
    if (rules_.layers == Layers::all) seen_.clear();
    for (std::uint32_t i = first; i < end; ++i) {
        const StateId state = entries_[i].state;
        if (system_.kind(state) != Kind::open) continue;
        for (StateId outcome : system_.policy_outcomes(state)) {
            if (!seen_.insert(outcome)) continue;
            entries_.push_back({outcome, i});
            if (system_.is_unsafe(outcome)) {
                unsafe = static_cast<std::uint32_t>(entries_.size() - 1);
                return true;
            }
        }
    }
    return false;
}

std::uint64_t Fuzzer::choose(std::uint64_t count, CounterRandom &random) {
    chose_ = count > 1;
    return random.below(count);
}

// A state of the last layer that is closest to being unsafe; ties are broken uniformly at random.
std::uint32_t Fuzzer::closest(std::uint32_t first, CounterRandom &random) {
    const auto begin = distances_.begin() + first;
    const double least = *std::min_element(begin, distances_.end());
    auto left = choose(static_cast<std::uint64_t>(std::count(begin, distances_.end(), least)), random);
    for (std::uint32_t i = first;; ++i)
        if (distances_[i] == least && left-- == 0) return i;
}

std::uint32_t Fuzzer::sampled(CounterRandom &random) {
    // The first entry is where the lookahead started. Distances are taken relative to the least one, so that not all weights
    // round to 0.
    const double least = *std::min_element(distances_.begin() + 1, distances_.end());
    weights_.assign(1, 0);
    double sum = 0;
    std::uint32_t possible = 0;
    seen_.clear();
    for (std::size_t i = 1; i < distances_.size(); ++i) {
        // A state that is in several layers counts once.
        const bool is_new = rules_.layers == Layers::fresh || seen_.insert(entries_[i].state);
        weights_.push_back(!is_new ? 0 : distances_[i] == least ? 1 : std::exp(least - distances_[i]));
        sum += weights_.back();
        possible += weights_.back() > 0 ? 1 : 0;
    }
    chose_ = possible > 1;
    double x = random.real() * sum;
    std::uint32_t chosen = 0;  // the last possible entry, if rounding leaves a little of x after the scan
    for (std::uint32_t i = 1; i < weights_.size(); ++i) {
        if (weights_[i] == 0) continue;
        chosen = i;
        x -= weights_[i];
        if (x < 0) break;
    }
    return chosen;
}

std::uint32_t Fuzzer::probable(StateId from, CounterRandom &random) {
    const LabelId label = system_.kind(from) == Kind::open ? system_.decision(from) : NO_LABEL;
    if (label == NO_LABEL || system_.kind(from) != Kind::open) return NOWHERE;
    Chances own = drawn_[from];
    if (own.count == 0) {
        system_.transitions().probabilities(from, label, outcomes_, chances_);
        if (outcomes_.empty() || outcomes_.size() != chances_.size())
            throw ModelError("no probability of each outcome in " + system_.transitions().describe(from));
        own = {static_cast<std::uint32_t>(drawn_states_.size()), static_cast<std::uint32_t>(outcomes_.size())};
        double sum = 0;
        for (std::uint32_t i = 0; i < own.count; ++i) {
            if (!(chances_[i] > 0))
                throw ModelError("an outcome without a positive probability in " +
                                 system_.transitions().describe(from));
            drawn_states_.push_back(outcomes_[i]);
            drawn_sums_.push_back(sum += chances_[i]);
        }
        drawn_.at(from) = own;
    }
    chose_ = own.count > 1;
    std::uint32_t at = own.first;
    if (own.count > 1) {
        const auto begin = drawn_sums_.begin() + own.first;
        const double x = random.real() * begin[own.count - 1];
        at += static_cast<std::uint32_t>(std::upper_bound(begin, begin + own.count - 1, x) - begin);
    }
    entries_.push_back({drawn_states_[at], 0});
    return 1;
}

std::uint32_t Fuzzer::look_ahead(StateId from, CounterRandom &random, FuzzRun &run) {
    entries_.assign(1, {from, NOWHERE});
    chose_ = false;
    if (rules_.select == Select::probable) return probable(from, random);
    distances_.assign(1, 0);
    seen_.clear();
    seen_.insert(from);
    std::uint32_t first = 0, end = 1;
    for (std::uint32_t depth = 1;; ++depth) {
        std::uint32_t unsafe = NOWHERE;
        if (add_layer(first, end, unsafe)) return unsafe;
        first = end;
        end = static_cast<std::uint32_t>(entries_.size());
        if (first == end) return NOWHERE;
        const bool is_last = depth == rules_.lookahead;
        const bool is_cut = !is_last && end > rules_.lookahead_cap;
        if (is_last && rules_.select == Select::uniform) break;
        for (std::uint32_t i = first; i < end; ++i) distances_.push_back(distance(entries_[i].state));
        const auto begin = distances_.begin() + first;
        const double least = *std::min_element(begin, distances_.end());
        if (is_last || std::count(begin, distances_.end(), least) == 1) break;
        if (is_cut) {
            ++run.cut;
            break;
        }
    }
    switch (rules_.select) {
        case Select::uniform: return first + static_cast<std::uint32_t>(choose(end - first, random));
        case Select::sample: return sampled(random);
        case Select::greedy:
        case Select::probable: break;
    }
    return closest(first, random);
}

FuzzRun Fuzzer::run(StateId start, CounterRandom &random) {
    if (policy_version_ != system_.policy_version()) {
        policy_version_ = system_.policy_version();
        drawn_.clear();
        drawn_states_.clear();
        drawn_sums_.clear();
    }
    FuzzRun run;
    run.states.push_back(start);
    visited_.clear();
    visited_.insert(start);
    turned_.clear();
    std::uint32_t turn = 0, chance = 0;  // counted from 1: the current turn, and the last one with a random choice
    while (!system_.is_unsafe(run.states.back())) {
        if (run.labels.size() >= rules_.max_steps) {
            run.end = RunEnd::step_limit;
            return run;
        }
        const StateId here = run.states.back();
        if (!turned_.insert(here) && turns_[here] > chance) {
            run.end = RunEnd::revisit;  // the run would repeat itself for ever
            return run;
        }
        turns_.at(here) = ++turn;
        const std::uint32_t target = look_ahead(here, random, run);
        if (chose_) chance = turn;
        run.looked_at += entries_.size() - 1;
        if (target == NOWHERE) {
            run.end = RunEnd::exhausted;
            return run;
        }
        way_.clear();
        for (std::uint32_t i = target; entries_[i].parent != NOWHERE; i = entries_[i].parent) way_.push_back(i);
        for (auto i = way_.rbegin(); i != way_.rend(); ++i) {
            run.labels.push_back(system_.decision(run.states.back()));
            run.states.push_back(entries_[*i].state);
        }
        const bool is_known = visited_.contains(run.states.back());
        for (std::uint32_t i : way_) visited_.insert(entries_[i].state);
        if (is_known && rules_.stop_on_revisit) {
            run.end = RunEnd::revisit;
            return run;
        }
    }
    run.end = RunEnd::unsafe;
    return run;
}

}  // namespace misstep::safety
