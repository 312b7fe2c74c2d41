#include "janisafety/risk_sample.h"

#include <deque>

namespace misstep::safety {

namespace {

// The outcomes of the policy's label in a state, kept as long as there is room.
class Draws {
   public:
    Draws(System &system, jani::Engine &engine) : system_(system), engine_(engine) {}

    // The next state, or NO_STATE where the run is over.
    StateId draw(StateId id, CounterRandom &random, bool &several_edges) {
        const jani::Weighted &step = of(id);
        if (step.labels.empty()) return NO_STATE;
        std::uint32_t edge = 0;
        if (const std::uint32_t edges = step.edges_of[1]; edges > 1) {
            several_edges = true;
            edge = static_cast<std::uint32_t>(random.below(edges));
        }
        const std::uint32_t first = step.outcomes_of[edge], last = step.outcomes_of[edge + 1];
        double sum = 0;
        for (std::uint32_t o = first; o < last; ++o) sum += step.weights[o];
        double rest = random.real() * sum;
        for (std::uint32_t o = first; o + 1 < last; ++o) {
            rest -= step.weights[o];
            if (rest < 0) return step.outcomes[o];
        }
        return step.outcomes[last - 1];
    }

   private:
    static constexpr std::size_t ROOM = 1 << 20;  // states

    const jani::Weighted &of(StateId id) {
        const std::uint32_t known = places_[id];
        if (known != NOWHERE) return kept_[known];
        jani::Weighted &step = kept_.size() < ROOM ? kept_.emplace_back() : scratch_;
        if (&step != &scratch_) places_.at(id) = static_cast<std::uint32_t>(kept_.size() - 1);
        const LabelId label = system_.decision(id);
        if (label == NO_LABEL) {
            step.labels.clear();
        } else {
            engine_.expand_weighted(id, step, label);
        }
        return step;
    }

    static constexpr std::uint32_t NOWHERE = ~0U;
    System &system_;
    jani::Engine &engine_;
    PerState<std::uint32_t> places_{NOWHERE};
    std::deque<jani::Weighted> kept_;
    jani::Weighted scratch_;
};

}  // namespace

RiskSample sample_risk(System &system, jani::Engine &engine, std::span<const StateId> starts, std::uint64_t runs,
                       std::uint64_t seed, std::uint64_t max_steps, const Limits &limits) {
    RiskSample result;
    Draws draws(system, engine);
    LimitWatch watch(limits);
    Progress progress;
    for (std::uint64_t run = 0; run < runs; ++run) {
        CounterRandom random(seed, run);
        StateId id = starts.empty() ? engine.sample_initial(random) : starts[random.below(starts.size())];
        std::uint64_t step = 0;
        for (;; ++step) {
            result.limit = watch.check(progress, [&] { return engine.bytes() + system.bytes(); });
            if (result.limit != Limit::none) return result;
            if (system.is_unsafe(id)) {
                ++result.unsafe;
                break;
            }
            if (system.kind(id) != Kind::open) break;
            if (step == max_steps) {
                ++result.cut;
                break;
            }
            const StateId next = draws.draw(id, random, result.several_edges);
            if (next == NO_STATE) break;
            id = next;
        }
        result.steps += step;
        ++result.runs;
        progress.expansions = result.runs;
    }
    return result;
}

}  // namespace misstep::safety
