#include "dominance/factor.h"

#include <algorithm>
#include <map>

namespace misstep::dominance {

namespace {

void normalise(Transitions &transitions) {
    std::sort(transitions.begin(), transitions.end());
    transitions.erase(std::unique(transitions.begin(), transitions.end()), transitions.end());
}

bool loops_only(const Factor &factor, const Transitions &transitions) {
    if (static_cast<int>(transitions.size()) != factor.size) return false;
    for (const Transition &t : transitions)
        if (t.from != t.to) return false;
    return true;
}

// Calls visit for each label that is relevant in at least one of the factors, with its transitions (nullptr: irrelevant there).
template <class Visit>
void for_each_label(const Factor &left, const Factor &right, Visit &&visit) {
    auto a = left.labels.begin();
    auto b = right.labels.begin();
    while (a != left.labels.end() || b != right.labels.end()) {
        if (b == right.labels.end() || (a != left.labels.end() && a->label < b->label)) {
            visit(a->label, &a->transitions, nullptr);
            ++a;
        } else if (a == left.labels.end() || b->label < a->label) {
            visit(b->label, nullptr, &b->transitions);
            ++b;
        } else {
            visit(a->label, &a->transitions, &b->transitions);
            ++a;
            ++b;
        }
    }
}

}  // namespace

const Transitions *Factor::find(int label) const {
    const auto found =
        std::lower_bound(labels.begin(), labels.end(), label,
                         [](const LabelledTransitions &entry, int wanted) { return entry.label < wanted; });
    return found != labels.end() && found->label == label ? &found->transitions : nullptr;
}

Factoring atomic_factoring(const Task &task) {
    task.refuse_conditional_effects("a dominance function");
    task.refuse_axioms("a dominance function");
    Factoring result;
    result.costs.assign(task.costs().begin(), task.costs().end());
    for (int v = 0; v < task.variable_count(); ++v) {
        Factor factor;
        factor.variables = {v};
        factor.size = task.domain_sizes()[v];
        factor.initial = task.initial()[v];
        factor.goal.assign(factor.size, 1);
        factor.lookup = Lookup::leaf(v, factor.size);
        result.factors.push_back(std::move(factor));
    }
    for (const Fact &fact : task.goal()) {
        Factor &factor = result.factors[fact.variable];
        factor.has_goal = true;
        for (int value = 0; value < factor.size; ++value)
            factor.goal[value] = factor.goal[value] && value == fact.value;
    }
    for (OperatorId op = 0; op < task.operator_count(); ++op) {
        struct Use {
            int before = -1;
            int after = -1;
        };
        std::map<int, Use> uses;
        for (const Fact &fact : task.preconditions(op)) uses[fact.variable].before = fact.value;
        for (const Fact &fact : task.effect_facts(op)) uses[fact.variable].after = fact.value;  // the last one counts
        for (const auto &[variable, use] : uses) {
            Factor &factor = result.factors[variable];
            Transitions transitions;
            if (use.before >= 0) {
                transitions.push_back({use.before, use.after >= 0 ? use.after : use.before});
            } else {
                for (int value = 0; value < factor.size; ++value) transitions.push_back({value, use.after});
            }
            factor.labels.push_back({op, std::move(transitions)});
        }
    }
    return result;
}

std::uint64_t product_transitions(const Factor &left, const Factor &right) {
    std::uint64_t sum = 0;
    for_each_label(left, right, [&](int, const Transitions *a, const Transitions *b) {
        sum += static_cast<std::uint64_t>(a ? a->size() : left.size) * (b ? b->size() : right.size);
    });
    return sum;
}

Factor product(const Factor &left, const Factor &right) {
    Factor result;
    std::merge(left.variables.begin(), left.variables.end(), right.variables.begin(), right.variables.end(),
               std::back_inserter(result.variables));
    const int n = right.size;
    result.size = left.size * n;
    result.initial = left.initial * n + right.initial;
    result.has_goal = left.has_goal || right.has_goal;
    result.goal.resize(result.size);
    for (int a = 0; a < left.size; ++a)
        for (int b = 0; b < n; ++b) result.goal[a * n + b] = left.goal[a] && right.goal[b];
    for_each_label(left, right, [&](int label, const Transitions *a, const Transitions *b) {
        Transitions transitions;
        const auto pair_with = [&](const Transition &t) {
            if (b) {
                for (const Transition &u : *b) transitions.push_back({t.from * n + u.from, t.to * n + u.to});
            } else {
                for (int y = 0; y < n; ++y) transitions.push_back({t.from * n + y, t.to * n + y});
            }
        };
        if (a) {
            for (const Transition &t : *a) pair_with(t);
        } else {
            for (int x = 0; x < left.size; ++x) pair_with({x, x});
        }
        normalise(transitions);
        result.labels.push_back({label, std::move(transitions)});
    });
    result.lookup = Lookup::product(left.lookup, right.lookup, n);
    return result;
}

void rename_states(Factor &factor, std::span<const int> renamed, int size) {
    factor.initial = renamed[factor.initial];
    std::vector<char> goal(size, 0);
    std::vector<Cost> h(size, 0);
    for (int s = 0; s < factor.size; ++s)
        if (renamed[s] != PRUNED) {
            goal[renamed[s]] = factor.goal[s];
            if (!factor.h.empty()) h[renamed[s]] = factor.h[s];
        }
    factor.goal = std::move(goal);
    if (!factor.h.empty()) factor.h = std::move(h);
    for (LabelledTransitions &entry : factor.labels) {
        Transitions kept;
        for (const Transition &t : entry.transitions)
            if (renamed[t.from] != PRUNED && renamed[t.to] != PRUNED) kept.push_back({renamed[t.from], renamed[t.to]});
        normalise(kept);
        entry.transitions = std::move(kept);
    }
    factor.lookup.rename(renamed);
    factor.size = size;
}

void drop_loops(Factor &factor) {
    std::erase_if(factor.labels,
                  [&](const LabelledTransitions &entry) { return loops_only(factor, entry.transitions); });
}

}  // namespace misstep::dominance
