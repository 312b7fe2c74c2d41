// What deciders, proofs and bounds on the risk claim about a small system is compared with plain iteration over all states.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "bytes.h"
#include "safety/closure.h"
#include "safety/explicit_transitions.h"
#include "safety/make_decider.h"
#include "safety/policies.h"
#include "safety/risk.h"
#include "safety/sparing_proof.h"

namespace {

using namespace misstep;
using namespace misstep::safety;

// Tables with the same content, easier to read.
struct Drawn {
    struct Label {
        LabelId name;
        std::vector<StateId> outcomes;
    };
    std::vector<std::uint8_t> flags;
    std::vector<std::vector<Label>> labels;
    Rules rules;

    StateId size() const { return static_cast<StateId>(flags.size()); }
    bool unsafe(StateId id) const {
        return (flags[id] & UNSAFE) != 0 ||
               (rules.dead_ends == DeadEnds::unsafe && (flags[id] & GOAL) == 0 && labels[id].empty());
    }
    bool ends(StateId id) const { return unsafe(id) || (flags[id] & GOAL) != 0 || labels[id].empty(); }
    const Label *find(StateId id, LabelId name) const {
        for (const Label &label : labels[id])
            if (label.name == name) return &label;
        return nullptr;
    }
};

Drawn draw(test::Bytes &bytes) {
    Drawn drawn;
    const int count = 1 + bytes.below(12);
    drawn.rules.dead_ends = bytes.below(3) ? DeadEnds::safe : DeadEnds::unsafe;
    drawn.rules.inapplicable = bytes.below(2) ? Inapplicable::stop_safe : Inapplicable::filter;
    drawn.rules.order =
        std::array{Order::safest, Order::policy, Order::declared}[static_cast<std::size_t>(bytes.below(3))];
    for (int id = 0; id < count; ++id) {
        const int kind = bytes.below(8);
        drawn.flags.push_back(kind == 0 ? UNSAFE : kind == 1 ? GOAL : PLAIN);
        drawn.labels.emplace_back();
        for (LabelId label = 0; label < 3; ++label) {
            const int outcomes = bytes.below(4);
            if (outcomes == 0) continue;
            drawn.labels.back().push_back({label, {}});
            for (int i = 0; i < outcomes; ++i)
                drawn.labels.back().back().outcomes.push_back(static_cast<StateId>(bytes.below(count)));
        }
    }
    return drawn;
}

std::shared_ptr<ExplicitTransitions> transitions_of(const Drawn &drawn) {
    Tables tables;
    tables.flags = drawn.flags;
    tables.actions = tables.offsets = {0};
    for (const auto &labels : drawn.labels) {
        for (const Drawn::Label &label : labels) {
            tables.labels.push_back(label.name);
            tables.outcomes.insert(tables.outcomes.end(), label.outcomes.begin(), label.outcomes.end());
            tables.offsets.push_back(static_cast<std::uint32_t>(tables.outcomes.size()));
        }
        tables.actions.push_back(static_cast<std::uint32_t>(tables.labels.size()));
    }
    tables.initial = {0};
    return std::make_shared<ExplicitTransitions>(tables);
}

// Labels of a policy. Where it stops, its label is NO_LABEL; elsewhere it applies.
std::vector<LabelId> draw_policy(test::Bytes &bytes, const Drawn &drawn) {
    std::vector<LabelId> policy;
    for (StateId id = 0; id < drawn.size(); ++id) {
        const auto &labels = drawn.labels[id];
        const bool stops = drawn.rules.inapplicable == Inapplicable::stop_safe && bytes.below(8) == 0;
        policy.push_back(stops || labels.empty()
                             ? NO_LABEL
                             : labels[static_cast<std::size_t>(bytes.below(static_cast<int>(labels.size())))].name);
    }
    return policy;
}

// By state the least number of deviations of a safe strategy, at most ENOUGH; with `free` deviations do not count.
constexpr Radius ENOUGH = 16;
std::vector<Radius> least_radii(const Drawn &drawn, const std::vector<LabelId> &policy, bool free) {
    std::vector<Radius> least(drawn.size(), 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (StateId id = 0; id < drawn.size(); ++id) {
            Radius best = drawn.unsafe(id) ? ENOUGH : 0;
            if (!drawn.ends(id)) {
                best = ENOUGH;
                for (const Drawn::Label &label : drawn.labels[id]) {
                    Radius worst = 0;
                    for (const StateId t : label.outcomes) worst = std::max(worst, least[t]);
                    best = std::min(best, worst + (free || label.name == policy[id] ? 0 : 1));
                }
            }
            if (best > least[id]) {
                least[id] = best;
                changed = true;
            }
        }
    }
    return least;
}

// The states that the policy can reach an unsafe state from.
std::vector<char> unsafe_under(const Drawn &drawn, const std::vector<LabelId> &policy) {
    std::vector<char> result(drawn.size());
    for (bool changed = true; changed;) {
        changed = false;
        for (StateId id = 0; id < drawn.size(); ++id) {
            bool now = drawn.unsafe(id);
            if (const Drawn::Label *label = drawn.ends(id) ? nullptr : drawn.find(id, policy[id]))
                for (const StateId t : label->outcomes) now = now || result[t];
            if (now && !result[id]) result[id] = changed = true;
        }
    }
    return result;
}

void check_strategy(const Drawn &drawn, const std::vector<LabelId> &policy, StateId start, bool bounded, Radius radius,
                    const std::vector<Step> &strategy) {
    std::map<StateId, LabelId> chosen;
    for (const Step &step : strategy) REQUIRE(chosen.emplace(step.state, step.label).second);
    // The most deviations of a run up to each state; more than the states are many means a cycle of them.
    std::map<StateId, Radius> spent{{start, 0}};
    std::vector<StateId> open{start};
    while (!open.empty()) {
        const StateId id = open.back();
        open.pop_back();
        REQUIRE(!drawn.unsafe(id));
        if (drawn.ends(id)) continue;
        REQUIRE(chosen.contains(id));
        const Drawn::Label *label = drawn.find(id, chosen[id]);
        REQUIRE(label != nullptr);
        const Radius after = spent[id] + (bounded && label->name != policy[id] ? 1 : 0);
        REQUIRE(!bounded || after <= radius);
        for (const StateId t : label->outcomes) {
            const auto [place, is_new] = spent.emplace(t, after);
            if (!is_new && place->second >= after) continue;
            place->second = after;
            open.push_back(t);
        }
    }
}

void check_decider(const Drawn &drawn, test::Bytes &bytes) {
    static constexpr std::array KINDS{"localfix", "tarjan", "lrtdp", "lao", "vi", "ipi"};
    System system(transitions_of(drawn), nullptr, drawn.rules);
    const auto kind = [&] { return KINDS[static_cast<std::size_t>(bytes.below(6))]; };
    const std::unique_ptr<Decider> decider = make_decider(kind(), system, 1), helper = make_decider(kind(), system, 2);
    std::vector<LabelId> policy;
    std::vector<Radius> radii;
    const std::vector<Radius> safe = least_radii(drawn, std::vector<LabelId>(drawn.size(), NO_LABEL), true);
    for (int questions = 0; questions < 24; ++questions) {
        if (questions == 0 || bytes.below(16) == 0) {
            policy = draw_policy(bytes, drawn);
            radii = least_radii(drawn, policy, false);
            system.set_policy(std::make_shared<LabelTable>(policy));
        }
        const auto id = static_cast<StateId>(bytes.below(static_cast<int>(drawn.size())));
        const bool bounded = bytes.below(2) != 0;
        const Radius radius = bounded ? static_cast<Radius>(bytes.below(4)) : UNBOUNDED;
        const bool truth = bounded ? radii[id] <= radius : safe[id] == 0;
        Limits limits;
        if (bytes.below(4) == 0) limits.evaluations = static_cast<std::uint64_t>(bytes.below(6));
        if (bytes.below(8) == 0) {
            helper->decide(id, radius, limits);
            decider->adopt_lost(*helper);
        }
        const Decision decision = decider->decide(id, radius, limits);
        REQUIRE(decision.answer == (truth ? Answer::safe : Answer::not_safe) ||
                (decision.answer == Answer::unknown && decision.limit == Limit::evaluations));
        if (decision.answer == Answer::safe)
            check_strategy(drawn, policy, id, bounded, radius, decider->strategy(id, radius));
        for (StateId other = 0; other < drawn.size(); ++other) {
            const Answer known = decider->known(other, radius);
            REQUIRE(known == Answer::unknown ||
                    (known == Answer::safe) == (bounded ? radii[other] <= radius : safe[other] == 0));
        }
    }
}

void check_proofs(const Drawn &drawn, test::Bytes &bytes) {
    const std::vector<LabelId> policy = draw_policy(bytes, drawn);
    const std::vector<char> bad = unsafe_under(drawn, policy);
    System system(transitions_of(drawn), std::make_shared<LabelTable>(policy), drawn.rules);
    std::vector<StateId> starts;
    for (int i = bytes.below(4); i >= 0; --i)
        starts.push_back(static_cast<StateId>(bytes.below(static_cast<int>(drawn.size()))));
    const bool truth = std::any_of(starts.begin(), starts.end(), [&](StateId id) { return bad[id] != 0; });

    Closure closure(system);
    closure.add_starts(starts);
    Limits limits;
    limits.expansions = static_cast<std::uint64_t>(bytes.below(8));
    closure.explore(limits, bytes.below(2) != 0);
    while (closure.explore({}, bytes.below(2) != 0) == Limit::none && !closure.complete()) {
    }
    REQUIRE((closure.unsafe() > 0) == truth);
    for (const StateId id : closure.unsafe_starts()) REQUIRE(bad[id] != 0);

    SparingProof sparing(system, starts);
    if (bytes.below(2)) limits = {};
    limits.evaluations = bytes.below(2) ? static_cast<std::uint64_t>(bytes.below(8)) : Limits().evaluations;
    const Limit limit = sparing.run(limits);
    if (sparing.end() == SparingProof::End::open) REQUIRE(limit != Limit::none);
    else REQUIRE((sparing.end() == SparingProof::End::unsafe) == truth);
    if (sparing.end() == SparingProof::End::unsafe) {
        const std::vector<StateId> run = sparing.unsafe_run();
        REQUIRE(std::find(starts.begin(), starts.end(), run.front()) != starts.end() && drawn.unsafe(run.back()));
        for (std::size_t i = 1; i < run.size(); ++i) {
            const Drawn::Label *label = drawn.find(run[i - 1], policy[run[i - 1]]);
            REQUIRE(!drawn.ends(run[i - 1]) && label != nullptr);
            REQUIRE(std::find(label->outcomes.begin(), label->outcomes.end(), run[i]) != label->outcomes.end());
        }
    } else if (sparing.end() == SparingProof::End::safe) {
        std::vector<StateId> states;
        std::vector<LabelId> labels;
        sparing.certificate(states, labels);
        const auto holds = [&](StateId id) { return std::find(states.begin(), states.end(), id) != states.end(); };
        for (const StateId id : starts) REQUIRE(holds(id));
        for (std::size_t i = 0; i < states.size(); ++i) {
            REQUIRE(!drawn.unsafe(states[i]));
            if (drawn.ends(states[i])) continue;
            REQUIRE(labels[i] == SparingProof::ANY || labels[i] == policy[states[i]]);
            for (const Drawn::Label &label : drawn.labels[states[i]])
                if (labels[i] == SparingProof::ANY || labels[i] == label.name)
                    for (const StateId t : label.outcomes) REQUIRE(holds(t));
        }
    }
}

// Iteration from below: the values never pass the true ones, and with these weights they come close to them soon.
void check_risk(const Drawn &drawn, test::Bytes &bytes) {
    Game game;
    for (StateId id = 0; id < drawn.size(); ++id) {
        const bool open = bytes.below(16) == 0;
        game.kinds.push_back(drawn.unsafe(id)                ? Game::UNSAFE
                             : (drawn.flags[id] & GOAL) != 0 ? Game::GOAL
                             : drawn.labels[id].empty()      ? Game::DEAD_END
                             : open                          ? Game::OPEN
                                                             : Game::INNER);
        if (game.kinds.back() == Game::INNER)
            for (const Drawn::Label &label : drawn.labels[id]) {
                game.labels.push_back(label.name);
                // One edge with all outcomes, or an edge for each of them.
                const bool split = bytes.below(4) == 0;
                for (const StateId t : label.outcomes) {
                    game.outcomes.push_back(t);
                    game.weights.push_back(1 + bytes.below(4));
                    if (split) game.outcomes_of.push_back(game.outcomes.size());
                }
                if (!split) game.outcomes_of.push_back(game.outcomes.size());
                game.edges_of.push_back(game.edge_count());
            }
        game.labels_of.push_back(game.labels.size());
    }
    game.check();
    const bool within = bytes.below(4) == 0;
    const int steps = bytes.below(12);
    const double precision = std::pow(10, -bytes.below(9));
    Limits limits;
    if (bytes.below(4) == 0) limits.evaluations = static_cast<std::uint64_t>(bytes.below(32));
    std::vector<std::int64_t> strategy;
    const Bounds bounds = within ? risk_within(game, static_cast<std::uint64_t>(steps), limits)
                                 : risk_bounds(game, precision, limits, &strategy);

    const auto iterate = [&](double of_open, int sweeps) {
        std::vector<double> values(game.size()), next(game.size());
        for (StateId id = 0; id < game.size(); ++id)
            values[id] = game.kinds[id] == Game::UNSAFE ? 1 : game.kinds[id] == Game::OPEN ? of_open : 0;
        for (next = values; sweeps > 0; --sweeps, values = next)
            for (StateId id = 0; id < game.size(); ++id) {
                if (game.kinds[id] != Game::INNER) continue;
                double least = 1;
                for (std::uint64_t label = game.labels_of[id]; label < game.labels_of[id + 1]; ++label) {
                    double worst = 0;
                    for (std::uint64_t edge = game.edges_of[label]; edge < game.edges_of[label + 1]; ++edge) {
                        double sum = 0, weight = 0;
                        for (std::uint64_t o = game.outcomes_of[edge]; o < game.outcomes_of[edge + 1]; ++o) {
                            sum += game.weights[o] * values[game.outcomes[o]];
                            weight += game.weights[o];
                        }
                        worst = std::max(worst, sum / weight);
                    }
                    least = std::min(least, worst);
                }
                next[id] = least;
            }
        return values;
    };
    constexpr double SLACK = 1e-9;
    const int sweeps = within ? steps : 400;
    const std::vector<double> low = iterate(0, sweeps), high = iterate(1, sweeps);
    for (StateId id = 0; id < game.size(); ++id) {
        // The values of the iteration are at most the truth, so that only a lower bound may be compared with a part of it.
        REQUIRE(bounds.low[id] <= bounds.high[id] && bounds.high[id] >= high[id] - SLACK);
        if (!within) continue;
        REQUIRE(bounds.low[id] <= low[id] + SLACK);
        if (limits.evaluations > 1000)
            REQUIRE(bounds.low[id] >= low[id] - SLACK && bounds.high[id] <= high[id] + SLACK);
    }
    if (within) return;
    // Where iteration has come to its end, the lower bounds are compared with it too.
    const std::vector<double> later = iterate(0, 2 * sweeps);
    for (StateId id = 0; id < game.size(); ++id)
        if (later[id] - low[id] < 1e-13) REQUIRE(bounds.low[id] <= later[id] + 1e-6);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    const int what = bytes.below(3);
    const Drawn drawn = draw(bytes);
    for (StateId id = 0; id < drawn.size(); ++id)
        if (drawn.unsafe(id) && drawn.size() > 2) {
            ++test::accepted;
            break;
        }
    if (what == 0) check_decider(drawn, bytes);
    else if (what == 1) check_proofs(drawn, bytes);
    else check_risk(drawn, bytes);
    return 0;
}
