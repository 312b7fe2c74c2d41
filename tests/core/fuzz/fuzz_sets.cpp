// What is said of the permitted runs of a set-valued policy is compared with the graph of all of them.
#include <algorithm>
#include <array>
#include <set>

#include "bytes.h"
#include "policygraph/permitted_graph.h"
#include "small_tasks.h"

namespace {

using namespace misstep;

// What is permitted in each state, and what follows from it.
class Permitted {
   public:
    enum Kind { SET, CRASH, TIMEOUT };

    Permitted(const Task &task, test::Bytes &bytes) : task_(task), all_(task) {
        for (std::size_t s = 0; s < all_.size(); ++s) {
            const int kind = bytes.below(24);
            kinds_.push_back(kind == 0 ? CRASH : kind == 1 ? TIMEOUT : SET);
            std::set<OperatorId> &operators = sets_.emplace_back();
            for (const auto &[op, t] : all_.successors[s])
                if (bytes.below(3)) operators.insert(op);
            if (bytes.below(24) == 0 && task.operator_count() > 0) operators.insert(bytes.below(task.operator_count()));
        }
    }
    const test::Transitions &all() const { return all_; }
    Kind kind(std::size_t s) const { return kinds_[s]; }
    const std::set<OperatorId> &operators(std::size_t s) const { return sets_[s]; }
    bool is_goal(std::size_t s) const { return task_.is_goal(all_.states[s].data()); }
    bool stops(std::size_t s) const {
        if (is_goal(s) || kinds_[s] != SET) return false;
        return sets_[s].empty() || std::any_of(sets_[s].begin(), sets_[s].end(),
                                               [&](OperatorId op) { return all_.step(s, op) == all_.size(); });
    }
    std::vector<std::pair<OperatorId, std::size_t>> steps(std::size_t s) const {
        std::vector<std::pair<OperatorId, std::size_t>> result;
        if (is_goal(s) || kinds_[s] != SET) return result;
        for (const OperatorId op : sets_[s])
            if (const std::size_t t = all_.step(s, op); t < all_.size()) result.emplace_back(op, t);
        return result;
    }
    std::set<std::size_t> reachable(std::size_t s) const {
        std::set<std::size_t> found{s};
        std::vector<std::size_t> open{s};
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            for (const auto &[op, t] : steps(at))
                if (found.insert(t).second) open.push_back(t);
        }
        return found;
    }
    // Whether some run stops before a goal, or goes on for ever.
    bool may_fail(const std::set<std::size_t> &states) const {
        return std::any_of(states.begin(), states.end(), [&](std::size_t s) {
            if (stops(s)) return true;
            const auto next = steps(s);
            return std::any_of(next.begin(), next.end(),
                               [&](const auto &step) { return reachable(step.second).contains(s); });
        });
    }
    // The least cost of a run to a goal.
    Cost least(std::size_t s) const {
        std::vector<Cost> costs(all_.size(), INFINITE_COST);
        for (std::size_t t = 0; t < all_.size(); ++t)
            if (is_goal(t)) costs[t] = 0;
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t t = 0; t < all_.size(); ++t)
                for (const auto &[op, next] : steps(t)) {
                    const Cost cost = costs[next] == INFINITE_COST ? INFINITE_COST : costs[next] + task_.cost(op);
                    if (cost >= costs[t]) continue;
                    costs[t] = cost;
                    changed = true;
                }
        }
        return costs[s];
    }
    // The highest cost, where no run comes back to a state.
    Cost most(std::size_t s) const {
        Cost result = 0;
        for (const auto &[op, t] : steps(s)) result = std::max(result, task_.cost(op) + most(t));
        return result;
    }
    Cost cost(OperatorId op) const { return task_.cost(op); }

   private:
    const Task &task_;
    const test::Transitions all_;
    std::vector<Kind> kinds_;
    std::vector<std::set<OperatorId>> sets_;
};

class Chooser {
   public:
    Chooser(const SuccessorGenerator &generator, const Permitted &permitted, std::uint32_t limit, bool dearest)
        : permitted_(permitted), dearest_(dearest), limit_(limit), graph_(generator, limit, dearest) {}

    void check(std::size_t start) {
        const std::set<std::size_t> reachable = permitted_.reachable(start);
        const StateId id = know(start);
        const PermittedGraph::Facts facts = graph_.facts(id);
        const Cost least = permitted_.least(start);
        const auto any = [&](Permitted::Kind kind) {
            return std::any_of(reachable.begin(), reachable.end(),
                               [&](std::size_t s) { return !permitted_.is_goal(s) && permitted_.kind(s) == kind; });
        };
        if (!permitted_.is_goal(start))
            REQUIRE(facts.closed == (reachable.size() <= limit_ && !any(Permitted::TIMEOUT)));
        const bool answers = !any(Permitted::CRASH) && !any(Permitted::TIMEOUT);
        const bool fails = permitted_.may_fail(reachable), reaches = answers && !fails;
        // What a run without an answer would have cost is not known.
        REQUIRE(facts.least <= least && (!facts.closed || !answers || facts.least == least));
        REQUIRE(facts.most == INFINITE_COST || (reaches && facts.most == permitted_.most(start)));
        if (!facts.closed) return;
        if (reaches) REQUIRE(facts.most == permitted_.most(start));
        const auto [end, cost] = follow(start);
        if (fails) REQUIRE(end == FAILURE);
        else if (any(Permitted::CRASH)) REQUIRE(end == FAILED);
        else REQUIRE(end == GOAL && cost == (dearest_ ? facts.most : facts.least));
    }

   private:
    static constexpr OperatorId GOAL = -10, FAILURE = -11;

    StateId know(std::size_t s) {
        const StateId id = graph_.add(permitted_.all().states[s].data());
        for (;;) {
            const std::vector<StateId> asked = graph_.explore(std::array{id});
            if (asked.empty()) return id;
            for (const StateId one : asked) {
                std::vector<int> values(permitted_.all().states[s].size());
                graph_.values(one, values.data());
                const std::size_t number = permitted_.all().numbers.at(values);
                REQUIRE(!graph_.is_asked(one));
                const std::set<OperatorId> &set = permitted_.operators(number);
                if (permitted_.kind(number) == Permitted::SET)
                    graph_.permit(one, std::vector<OperatorId>(set.begin(), set.end()));
                else graph_.fail(one, permitted_.kind(number) == Permitted::TIMEOUT);
            }
        }
    }
    // How the chooser's run ends, and what it costs.
    std::pair<OperatorId, Cost> follow(std::size_t at) {
        Cost cost = 0;
        for (std::set<std::size_t> seen; seen.insert(at).second;) {
            if (permitted_.is_goal(at)) return {GOAL, cost};
            const OperatorId op = graph_.choice(know(at));
            if (op == FAILED || op == TIMED_OUT) return {op, cost};
            REQUIRE(op == NO_ACTION ? permitted_.operators(at).empty() : permitted_.operators(at).contains(op));
            if (op == NO_ACTION || permitted_.all().step(at, op) == permitted_.all().size()) return {FAILURE, cost};
            cost += permitted_.cost(op);
            at = permitted_.all().step(at, op);
        }
        return {FAILURE, cost};
    }

    const Permitted &permitted_;
    bool dearest_;
    std::uint32_t limit_;
    PermittedGraph graph_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    const std::vector<int> sizes = test::draw_sizes(bytes);
    // What is decided beside the task comes first, so that a longer task does not change it.
    std::array<std::uint8_t, 384> choices{};
    for (std::uint8_t &byte : choices) byte = bytes.take<std::uint8_t>();
    const Task task = test::draw_task(bytes, sizes);
    test::Bytes rest(choices.data(), choices.size());
    const bool dearest = rest.below(2) != 0;
    const auto limit = static_cast<std::uint32_t>(1 + rest.below(rest.below(2) ? 12 : 80));
    const Permitted permitted(task, rest);
    if (permitted.all().has_choices()) ++test::accepted;
    const SuccessorGenerator generator(task);
    Chooser chooser(generator, permitted, limit, dearest);
    for (int questions = 0; questions < 6; ++questions)
        chooser.check(static_cast<std::size_t>(rest.take<std::uint16_t>()) % permitted.all().size());
    return 0;
}
