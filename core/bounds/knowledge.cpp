#include "bounds/knowledge.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/contradiction.h"

namespace misstep {

namespace {

class Collector {
   public:
    explicit Collector(BoundStore &store)
        : transitions_(store.transitions()),
          bounds_(store.upper_bounds()),
          distances_(store.distances()),
          lower_bounds_(store.lower_bounds()) {}

    void take(const std::vector<StateId> &given) {
        for (StateId id : given) row(id);
        const std::size_t given_count = states_.size();
        for (std::size_t i = 0; i < given_count; ++i) {
            const StateId id = states_[i];
            take_plan(id);
            take_derivation(id);
            take_between(id, given_count);
        }
    }

    Knowledge result() {
        const std::size_t width = transitions_.task().variable_count();
        result_.states.resize(states_.size() * width);
        for (std::size_t i = 0; i < states_.size(); ++i) {
            transitions_.values(states_[i], result_.states.data() + i * width);
            const Cost lower = lower_bounds_.cost(states_[i]);
            result_.lower.push_back(lower >= INFINITE_COST ? Knowledge::INFINITE : lower);
        }
        return std::move(result_);
    }

   private:
    std::int64_t row(StateId id) {
        const auto [place, is_new] = rows_.emplace(id, static_cast<std::int64_t>(states_.size()));
        if (is_new) states_.push_back(id);
        return place->second;
    }

    void add_transition(const TransitionCache::Transition &transition) {
        const std::uint64_t key =
            static_cast<std::uint64_t>(transition.source) << 32 | static_cast<std::uint32_t>(transition.op);
        if (!taken_transitions_.insert(key).second) return;
        const std::int64_t source = row(transition.source), target = row(transition.target);
        result_.edges.insert(result_.edges.end(), {source, transition.op, target, 0});
    }

    // Plans merge. From a state whose plan has been added before, nothing more has to be added.
    void take_plan(StateId id) {
        while (plan_taken_.insert(id).second) {
            const TransitionId step = distances_.next(id);
            if (step == NO_TRANSITION) return;
            add_transition(transitions_.transition(step));
            id = transitions_.transition(step).target;
        }
    }

    void take_derivation(StateId id) {
        while (bounds_.is_derived(id)) {
            if (!derivation_taken_.insert(id).second) return;
            const DerivedBounds::Step step = bounds_.step(id);
            if (step.op == NO_OPERATOR) {
                const std::int64_t state = row(id), source = row(step.target);
                result_.edges.insert(result_.edges.end(), {state, Knowledge::JUMP, source, step.value});
            } else {
                add_transition({step.op, step.target, id, NO_TRANSITION});
            }
            id = step.target;
        }
        take_plan(id);
    }

    void take_between(StateId id, std::size_t given_count) {
        between_.clear();
        transitions_.for_each_outgoing(id, [&](const TransitionCache::Transition &transition) {
            const auto target = rows_.find(transition.target);
            if (target != rows_.end() && target->second < static_cast<std::int64_t>(given_count))
                between_.push_back(transition);
        });
        // An operator leads to only one state, so sorting by operators gives a unique order.
        std::sort(between_.begin(), between_.end(), [](const auto &a, const auto &b) { return a.op < b.op; });
        for (const TransitionCache::Transition &transition : between_) add_transition(transition);
    }

    const TransitionCache &transitions_;
    const DerivedBounds &bounds_;
    const GoalDistances &distances_;
    const LowerBounds &lower_bounds_;
    Knowledge result_;
    std::vector<StateId> states_;
    std::unordered_map<StateId, std::int64_t> rows_;
    std::unordered_set<std::uint64_t> taken_transitions_;
    std::unordered_set<StateId> plan_taken_, derivation_taken_;
    std::vector<TransitionCache::Transition> between_;
};

// Checks that all numbers are in range and that operators apply and lead to the given states. Throws at the first mistake.
void check(const Task &task, std::span<const std::int32_t> states, std::span<const std::int64_t> lower,
           std::span<const std::int64_t> edges) {
    const std::size_t width = task.variable_count();
    if (states.size() != lower.size() * width) throw InvalidKnowledge("as many lower bounds as states are needed");
    if (edges.size() % Knowledge::EDGE != 0) throw InvalidKnowledge("an edge has four numbers");
    const auto rows = static_cast<std::int64_t>(lower.size());
    for (std::int64_t i = 0; i < rows; ++i)
        if (lower[i] < Knowledge::INFINITE || lower[i] >= INFINITE_COST)
            throw InvalidKnowledge("state " + std::to_string(i) + ": the lower bound " + std::to_string(lower[i]) +
                                   " is out of range");
    std::vector<int> successor(width);
    for (std::size_t i = 0; i < edges.size(); i += Knowledge::EDGE) {
        const std::int64_t source = edges[i], op = edges[i + 1], target = edges[i + 2], value = edges[i + 3];
        const auto refuse = [&](const std::string &what) {
            throw InvalidKnowledge("edge " + std::to_string(i / Knowledge::EDGE) + ": " + what);
        };
        for (std::int64_t row : {source, target})
            if (row < 0 || row >= rows) refuse("there is no state " + std::to_string(row));
        if (op == Knowledge::JUMP) {
            if (source == target) refuse("a jump from a state to itself");
            if (value <= -INFINITE_COST || value >= INFINITE_COST)
                refuse("the value " + std::to_string(value) + " is out of range");
            continue;
        }
        const std::string name = "operator " + std::to_string(op);
        if (op < 0 || op >= task.operator_count()) refuse(name + " does not exist");
        if (value != 0) refuse(name + " has a value of its own");
        const int *from = states.data() + source * width;
        if (!task.applicable(static_cast<OperatorId>(op), from)) refuse(name + " does not apply");
        task.apply(static_cast<OperatorId>(op), from, successor.data());
        if (!std::equal(successor.begin(), successor.end(), states.data() + target * width))
            refuse(name + " does not lead to the state that it is said to lead to");
    }
}

}  // namespace

Knowledge knowledge(BoundStore &store, std::span<const std::int32_t> given) {
    const std::size_t width = store.transitions().task().variable_count();
    std::vector<StateId> ids;
    for (std::size_t i = 0; i < given.size(); i += width) ids.push_back(store.add(given.data() + i));
    Collector collector(store);
    collector.take(ids);
    return collector.result();
}

void add_knowledge(BoundStore &store, std::span<const std::int32_t> states, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> edges) {
    const Task &task = store.transitions().task();
    check(task, states, lower, edges);
    const std::size_t width = task.variable_count();
    std::vector<StateId> ids;
    ids.reserve(lower.size());
    for (std::size_t i = 0; i < lower.size(); ++i) {
        ids.push_back(store.add(states.data() + i * width));
        store.raise_lower_bound(ids.back(), lower[i] == Knowledge::INFINITE ? INFINITE_COST : lower[i]);
    }
    for (std::size_t i = 0; i < edges.size(); i += Knowledge::EDGE) {
        const StateId source = ids[edges[i]], target = ids[edges[i + 2]];
        if (edges[i + 1] != Knowledge::JUMP) {
            store.add_transition(source, static_cast<OperatorId>(edges[i + 1]));
        } else if (source != target) {  // two rows may hold the same state
            store.add_jump(source, target, edges[i + 3]);
        }
    }
    try {
        store.upper_bounds();
    } catch (const Contradiction &contradiction) {  // the caller's jumps are wrong: `knowledge` returns no such jumps
        throw InvalidKnowledge(contradiction.what());
    }
}

}  // namespace misstep
