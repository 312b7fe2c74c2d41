// What heuristics, searches, plan improvement and dominance functions claim about a small task is compared with its goal
// distances, which plain iteration over all states gives.
#include <algorithm>
#include <array>
#include <memory>

#include "bytes.h"
#include "dominance/factoring.h"
#include "dominance/function.h"
#include "dominance/index.h"
#include "dominance/morphs.h"
#include "heuristics/lmcut.h"
#include "heuristics/relaxation_heuristics.h"
#include "improve/action_elimination.h"
#include "improve/aras.h"
#include "search/astar.h"
#include "search/ehc.h"
#include "search/gbfs.h"
#include "small_tasks.h"

namespace {

using namespace misstep;

// One task with its truth.
class Claims {
   public:
    Claims(const Task &task, test::Bytes &bytes) : task_(task), bytes_(bytes), all_(task), generator_(task) {
        for (int i = 0; i < all_.count(); ++i) {
            states_.push_back(all_.state(i));
            distances_.push_back(all_.distance(states_.back()));
            if (distances_.back() > 0 && distances_.back() < INFINITE_COST) useful_ = true;
        }
    }
    bool useful() const { return useful_; }

    void check_heuristics() {
        const auto relaxed = std::make_shared<const RelaxedTask>(task_);
        HMax hmax(relaxed);
        HAdd hadd(relaxed);
        HFF hff(relaxed);
        const std::unique_ptr<LMCut> lmcut = make_lmcut();
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const int *state = states_[i].data();
            REQUIRE(hmax.evaluate(state) <= distances_[i]);
            for (Heuristic *one : std::initializer_list<Heuristic *>{&hadd, &hff})
                REQUIRE(one->evaluate(state) < INFINITE_COST || distances_[i] == INFINITE_COST);
            if (!lmcut) continue;
            const Cost value = lmcut->evaluate(state);
            REQUIRE(value <= distances_[i] && value >= hmax.evaluate(state));
            const Cost bound = bytes_.below(6), early = lmcut->evaluate(state, bound);
            REQUIRE(early == value || (early >= bound && early <= value));
        }
    }

    void check_searches() {
        const std::size_t i = static_cast<std::size_t>(bytes_.take<std::uint16_t>()) % states_.size();
        const int *start = states_[i].data();
        const Cost bound = bytes_.below(2) ? INFINITE_COST : bytes_.below(8);
        const std::unique_ptr<LMCut> lmcut = bytes_.below(2) ? make_lmcut() : nullptr;
        AStar astar(generator_, lmcut.get(), start, bound);
        const SearchResult optimal = check_search(astar, i, bound);
        REQUIRE((optimal.status == Status::plan) == (distances_[i] < bound));
        REQUIRE(optimal.status == Status::plan ? optimal.cost == distances_[i]
                                               : optimal.lower_bound >= std::min(bound, distances_[i]));

        HFF hff(std::make_shared<const RelaxedTask>(task_));
        GreedyBestFirst greedy(generator_, hff, start, bound);
        const SearchResult found = check_search(greedy, i, bound);
        EnforcedHillClimbing climbing(generator_, hff, start, {bytes_.below(2) != 0, bytes_.below(2) != 0}, bound);
        check_search(climbing, i, bound);
        if (found.status == Status::plan) check_improvement(i, found.plan);
    }

    void check_dominance() {
        if (task_.has_conditional_effects()) return;
        std::vector<dominance::Simulation> simulations;
        for (int count = 1 + bytes_.below(2); count > 0; --count) {
            const int flags = bytes_.take<std::uint8_t>();
            dominance::FactoringOptions how;
            how.merge = flags & 1;
            how.max_states = 1 + bytes_.below(64);
            how.reduce_labels = flags & 2;
            how.shrink = flags & 4;
            how.prune_unreachable = flags & 8;
            dominance::SimulationOptions options;
            options.strict = !(flags & 16);
            options.tau = !(flags & 32);
            options.recursive_tau = !(flags & 64);
            if (flags & 128) {
                options.truncate = bytes_.below(8);
                options.max_drops = static_cast<std::uint32_t>(bytes_.below(8));
                options.max_steps = bytes_.take<std::uint16_t>();
            }
            Limit limit = Limit::none;
            const dominance::Factoring factoring = dominance::make_factoring(task_, how, {}, limit);
            if (!factoring.solvable) {
                REQUIRE(all_.distance({task_.initial().begin(), task_.initial().end()}) == INFINITE_COST);
                return;
            }
            simulations.push_back(dominance::simulate(factoring, options, {}));
        }
        const dominance::Function function({task_.domain_sizes().begin(), task_.domain_sizes().end()}, simulations);
        check_values(function);
        check_index(function);
        check_morphs(function);
    }

   private:
    std::unique_ptr<LMCut> make_lmcut() const {
        return task_.has_conditional_effects() ? nullptr : std::make_unique<LMCut>(task_);
    }

    void check_plan(std::size_t start, const std::vector<OperatorId> &plan, Cost cost) const {
        std::vector<int> state = states_[start];
        for (const OperatorId op : plan) {
            REQUIRE(task_.applicable(op, state.data()));
            task_.apply(op, state.data(), state.data());
            cost -= task_.cost(op);
        }
        REQUIRE(cost == 0 && task_.is_goal(state.data()));
    }

    // Stops the search now and then, and goes on with it.
    template <class Search>
    SearchResult check_search(Search &search, std::size_t start, Cost bound) {
        SearchResult result;
        Limits limits;
        for (int stops = bytes_.below(4); stops >= 0; --stops) {
            limits.expansions = stops ? static_cast<std::uint64_t>(bytes_.below(8)) : Limits().expansions;
            result = search.run(limits);
            REQUIRE(result.lower_bound <= distances_[start]);
            if (result.status != Status::plan) continue;
            REQUIRE(result.cost < bound);
            check_plan(start, result.plan, result.cost);
        }
        REQUIRE(result.status != Status::limit);
        return result;
    }

    void check_improvement(std::size_t start, const std::vector<OperatorId> &plan) {
        const Cost cost = cost_of(task_, plan);
        const Elimination kind = bytes_.below(2) ? Elimination::first : Elimination::greedy;
        const Plan shorter = eliminate(generator_, states_[start].data(), plan, kind);
        REQUIRE(cost_of(task_, shorter) <= cost);
        check_plan(start, shorter, cost_of(task_, shorter));
        BoundStore store(generator_);
        ArasOptions options;
        options.growth = 1 + static_cast<std::uint64_t>(bytes_.below(32));
        options.iterations = static_cast<std::uint64_t>(bytes_.below(6));
        options.eliminate = bytes_.below(2) != 0;
        const ArasResult better = aras(store, states_[start].data(), plan, options, {});
        REQUIRE(better.cost <= cost && better.initial_cost == cost);
        check_plan(start, better.plan, better.cost);
        if (better.status == ArasStatus::closed) REQUIRE(better.cost == distances_[start]);
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const StateId id = store.add(states_[i].data());
            REQUIRE(store.upper_bounds().cost(id) >= distances_[i] && store.lower_bounds().cost(id) <= distances_[i]);
        }
    }

    void check_values(const dominance::Function &function) const {
        const std::optional<dominance::Function> read =
            dominance::Function::read(function.write(), function.domain_sizes());
        REQUIRE(read.has_value());
        for (std::size_t s = 0; s < states_.size(); ++s)
            for (std::size_t t = 0; t < states_.size(); ++t) {
                const Cost value = function.value(states_[s].data(), states_[t].data());
                REQUIRE(read->value(states_[s].data(), states_[t].data()) == value);
                if (value > dominance::MINUS_INFINITY && distances_[s] < INFINITE_COST)
                    REQUIRE(value <= distances_[s] - distances_[t]);
            }
    }

    // The bounds that follow from those of some states are the least that follow from any of them.
    void check_index(const dominance::Function &function) {
        dominance::ComparisonIndex index(function);
        std::vector<std::size_t> known;
        for (int steps = bytes_.below(24); steps > 0; --steps) {
            const std::size_t i = static_cast<std::size_t>(bytes_.take<std::uint16_t>()) % states_.size();
            if (distances_[i] == INFINITE_COST) continue;
            const std::uint32_t row = index.add(states_[i].data());
            if (row == known.size()) known.push_back(i);
            const Cost bound = distances_[i] + bytes_.below(4);
            if (bytes_.below(2)) index.set_bound(row, bound);
            else index.push(states_[i].data(), bound);
            const std::size_t asked = static_cast<std::size_t>(bytes_.take<std::uint16_t>()) % states_.size();
            Cost least = INFINITE_COST;
            for (std::uint32_t other = 0; other < index.size(); ++other) {
                Cost value = function.value(states_[known[other]].data(), states_[asked].data());
                if (known[other] == asked) value = std::max<Cost>(value, 0);  // also where the state was pruned
                REQUIRE(index.bound(other) >= distances_[known[other]]);
                if (value > dominance::MINUS_INFINITY && index.bound(other) < INFINITE_COST)
                    least = std::min(least, index.bound(other) - value);
            }
            REQUIRE(index.pull(states_[asked].data()).bound == least && least >= distances_[asked]);
        }
    }

    void check_morphs(const dominance::Function &function) const {
        const dominance::Morphs morphs(function);
        const int *state = task_.initial().data();
        for (const std::vector<dominance::Morph> &list : {morphs.single(state), morphs.best(state, 5)})
            for (std::size_t i = 0; i < list.size(); ++i) {
                REQUIRE(list[i].value == function.value(list[i].values.data(), state));
                REQUIRE(list[i].value > dominance::MINUS_INFINITY && (i == 0 || list[i].value <= list[i - 1].value));
            }
    }

    const Task &task_;
    test::Bytes &bytes_;
    const test::AllStates all_;
    const SuccessorGenerator generator_;
    std::vector<std::vector<int>> states_;
    std::vector<Cost> distances_;
    bool useful_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    const std::vector<int> sizes = test::draw_sizes(bytes);
    // What is decided beside the task comes first, so that a longer task does not change it.
    std::array<std::uint8_t, 96> choices{};
    for (std::uint8_t &byte : choices) byte = bytes.take<std::uint8_t>();
    const Task task = test::draw_task(bytes, sizes);
    test::Bytes rest(choices.data(), choices.size());
    Claims claims(task, rest);
    if (claims.useful()) ++test::accepted;
    switch (rest.below(3)) {
        case 0: claims.check_heuristics(); break;
        case 1: claims.check_searches(); break;
        default: claims.check_dominance();
    }
    return 0;
}
