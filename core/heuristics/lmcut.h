#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "fdr/task.h"
#include "heuristics/heuristic.h"
#include "heuristics/lmcut_queue.h"

namespace misstep {

// The landmark-cut heuristic (Helmert and Domshlak, ICAPS 2009). Admissible.
//
// Delete effects are ignored. The hmax value of a fact is the cost of its cheapest achiever, where a set of
// preconditions costs as much as its most expensive member. That member is called the *supporter* of the operator.
// In the justification graph, each operator has an edge from its supporter to each of its effects. Every plan
// contains all operators on some path from the state to the goal in this graph, because each operator of the plan
// needs its supporter first. So the operators on the edges that cross a *cut* of the graph are a disjunctive
// landmark: every plan uses one of them. LM-cut takes the cut just before the *goal zone* (the facts from which
// operators of cost 0 lead to the goal), charges the cost of its cheapest operator, subtracts that cost from every
// operator of the cut, and repeats until hmax is 0. Every plan contains an operator of each cut, and no operator is
// charged more than it costs over all cuts: so the sum over the cuts is at most the cost of any plan.
//
// Any choice of supporters gives landmarks, hence an admissible value. Supporters must be hmax-maximal only to make
// progress: the goal zone then holds no fact cheaper than the goal, so it does not contain the state, and all
// operators that lead into it cost more than 0. Let d be the hmax value of the goal. The argument uses only
// values up to d, and three short cuts follow from that:
//   - When costs fall, changes are propagated only up to d. Other facts may keep a value that is too high (but
//     never below d). d never grows, so their exact values are never needed later.
//   - A fact cheaper than d is before the goal zone: its cheapest path in the graph gets more expensive step by step
//     and so never enters the zone. Only for operators whose supporter is at least as expensive as the
//     goal, a search must find out whether some path reaches them; it runs backwards and is short. The
//     forward exploration of the whole task that the original does for every cut is not needed.
//   - Values may saturate at a fixed limit, so 32 bits are enough. The sum over the cuts has 64.
//
// There is no artificial goal operator: the supporter of the goal is the goal fact of the highest value.
class LMCut : public Heuristic {
   public:
    // Gets a cut: operators in increasing order, and what was charged. Every plan uses one of the operators, and
    // over all cuts of an evaluation no operator is charged more than it costs.
    using OnCut = std::function<void(std::span<const OperatorId> operators, Cost charged)>;

    explicit LMCut(const Task &task);

    // The goal may be any set of facts, for example a full state. Starts as the goal of the task.
    void set_goal(std::span<const Fact> goal);

    Cost evaluate(const int *values) override { return evaluate(values, INFINITE_COST); }
    // May stop as soon as the result is at least `bound`.
    Cost evaluate(const int *values, Cost bound);
    // Calls for each cut in the order found. A goal that cannot be reached has no cuts.
    Cost evaluate_with_cuts(const int *values, const OnCut &on_cut);

    std::size_t bytes() const override;

   private:
    using Value = std::uint32_t;
    using FactId = std::uint32_t;
    static constexpr Value UNREACHED = 0xffffffff;
    static constexpr Value SATURATED = 0x7fffffff;  // plus the largest operator cost still fits in a Value
    static constexpr FactId NO_FACT = 0xffffffff;

    struct Operator {
        Value cost;             // after what the cuts have charged
        FactId supporter;       // NO_FACT: the operator is unreachable
        Value supporter_value;  // the value of the supporter when it was last propagated to the operator
        std::uint32_t counter;  // preconditions not reached; after the exploration: the last round that used it
    };
    // Bodies of operators lie behind each other in `bodies_`: preconditions [first, effects), effects [effects, end).
    struct Body {
        std::uint32_t first;
        std::uint32_t effects;
        std::uint32_t end;
    };
    struct FactData {
        Value value;
        std::uint32_t mark;  // a Mark of the current round if it is mark_base_ or more
    };
    struct Goal {
        FactId fact;
        std::uint32_t chosen;  // when it was last the supporter; 0: not yet
    };
    enum Mark : std::uint32_t { IN_ZONE = 0, BEFORE_ZONE = 1, OPEN = 2, MARKS = 3 };

    static Value add(Value value, Value cost) { return std::min(value + cost, SATURATED); }
    // Spans, because the loops over them then keep their ends in registers.
    using Ids = std::span<const std::uint32_t>;
    Ids needed_by(FactId fact) const {
        return slice(needed_by_, needed_by_offsets_[fact], needed_by_offsets_[fact + 1]);
    }
    Ids achievers(FactId fact) const { return slice(achievers_, achiever_offsets_[fact], achiever_offsets_[fact + 1]); }
    Ids preconditions(std::uint32_t op) const {
        return slice(bodies_, bodies_of_operators_[op].first, bodies_of_operators_[op].effects);
    }
    Ids effects(std::uint32_t op) const {
        return slice(bodies_, bodies_of_operators_[op].effects, bodies_of_operators_[op].end);
    }
    static Ids slice(const std::vector<std::uint32_t> &ids, std::uint32_t first, std::uint32_t end) {
        return {ids.data() + first, ids.data() + end};
    }
    bool marked(FactId fact, Mark mark) const { return facts_[fact].mark == mark_base_ + mark; }
    void mark(FactId fact, Mark mark) { facts_[fact].mark = mark_base_ + mark; }

    template <class Found>
    Cost run(const int *values, Cost bound, Found &&found);
    void explore(const int *values);
    void find_goal_supporter();
    void find_zone();
    void find_cut();
    void settle_open_facts();
    void charge(Value cost);

    std::vector<int> fact_offsets_;
    std::vector<Goal> goal_;
    std::uint32_t goal_choices_ = 0;

    std::vector<Operator> operators_;
    std::vector<Operator> fresh_operators_;  // as they are before the exploration
    std::vector<Body> bodies_of_operators_;
    std::vector<FactId> bodies_;
    std::vector<FactData> facts_;  // the last one is always true: the supporter of operators without preconditions
    std::vector<std::uint32_t> needed_by_offsets_, needed_by_;  // fact -> operators with this precondition
    std::vector<std::uint32_t> achiever_offsets_, achievers_;    // fact -> operators with this effect

    LMCutQueue queue_;
    FactId goal_supporter_ = NO_FACT;
    Value goal_value_ = 0;
    std::uint32_t round_ = 0;
    std::uint32_t mark_base_ = 0;
    std::vector<FactId> zone_;
    std::vector<std::uint32_t> candidates_;
    std::vector<std::uint32_t> undecided_;
    std::vector<std::uint32_t> cut_;
    std::vector<FactId> open_;
    std::vector<std::pair<FactId, FactId>> open_edges_;
};

}  // namespace misstep
