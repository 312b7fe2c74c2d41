#include "improve/aras.h"

#include "base/contradiction.h"
#include "improve/action_elimination.h"

namespace misstep {

namespace {

class Aras {
   public:
    Aras(BoundStore &store, const int *start, const ArasOptions &options, const Limits &limits)
        : store_(store),
          generator_(store.transitions().generator()),
          task_(generator_.task()),
          start_(start),
          root_(store.add(start)),
          options_(options),
          limits_(limits),
          budget_(limits, options.generated) {}

    ArasResult run(std::span<const OperatorId> plan) {
        result_.initial_cost = cost_of(task_, plan);
        result_.plan.assign(plan.begin(), plan.end());
        result_.cost = result_.initial_cost;
        offer(result_.plan);
        settle();
        std::uint64_t n = std::max<std::uint64_t>(options_.growth, 1);
        while (!decided()) {
            grow(n);
            settle();
            n = std::max(n, 2 * n);  // n stays the same where doubling would overflow
        }
        if (replay(task_, start_, result_.plan) != result_.cost || result_.cost > result_.initial_cost)
            throw Contradiction("aras has lost track of the cost of its plan");
        result_.progress = budget_.progress;
        result_.progress.bytes = store_.bytes();
        result_.progress.seconds = budget_.watch.seconds();
        return std::move(result_);
    }

   private:
    // Adds a plan, or what elimination leaves of it, to the store and keeps it if it is the best so far.
    void offer(const Plan &plan) {
        Plan rest = options_.eliminate ? eliminated(plan) : plan;
        const Cost cost = cost_of(task_, rest);
        store_.add_plan(root_, rest, budget_);
        if (std::pair(cost, rest.size()) < std::pair(result_.cost, result_.plan.size())) {
            result_.plan = std::move(rest);
            result_.cost = cost;
        }
    }

    // Takes the cheapest path of the store, eliminates, and again, until neither finds anything better.
    void settle() {
        while (true) {
            const GoalDistances &distances = store_.distances();
            if (std::pair(distances.cost(root_), distances.steps(root_)) >=
                std::pair(result_.cost, result_.plan.size()))
                return;
            result_.plan = distances.plan(root_);
            result_.cost = distances.cost(root_);
            if (options_.eliminate) offer(result_.plan);
        }
    }

    // One iteration: explores the neighbourhood of every state of the cheapest path. Distances are updated after each state:
    // the total cost is the same, a plan that is cheap enough is seen at once, and little is left to do when a limit is
    // reached.
    void grow(std::uint64_t n) {
        ++result_.iterations;
        store_.distances().path(root_, path_);
        for (StateId state : path_) {
            const bool exhausted = store_.grow(state, n, budget_);
            if (state == root_ && exhausted) closed_ = true;
            if (closed_ || budget_.limit != Limit::none) return;
            if (store_.distances().cost(root_) < options_.stop_below) return;
        }
    }

    bool decided() {
        if (result_.cost < options_.stop_below) {
            result_.status = ArasStatus::below;
        } else if (closed_ || store_.complete() || result_.cost == 0) {
            result_.status = ArasStatus::closed;
        } else if (budget_.limit != Limit::none || !budget_.allows(store_)) {
            result_.status = ArasStatus::limit;
            result_.limit = budget_.limit;
        } else if (result_.iterations >= options_.iterations) {
            result_.status = ArasStatus::limit;
            result_.limit = Limit::iterations;
        } else {
            return false;
        }
        return true;
    }

    Plan eliminated(const Plan &plan) const {
        Limits limits;
        limits.seconds = limits_.seconds - budget_.watch.seconds();
        limits.poll = limits_.poll;
        return best_elimination(generator_, start_, plan, limits);
    }

    BoundStore &store_;
    const SuccessorGenerator &generator_;
    const Task &task_;
    const int *start_;
    StateId root_;
    ArasOptions options_;
    const Limits &limits_;
    BoundStore::Budget budget_;
    ArasResult result_;
    std::vector<StateId> path_;
    bool closed_ = false;
};

}  // namespace

ArasResult aras(BoundStore &store, const int *start, std::span<const OperatorId> plan, const ArasOptions &options,
                const Limits &limits) {
    replay(store.transitions().task(), start, plan);  // throws before anything is added to the store
    return Aras(store, start, options, limits).run(plan);
}

}  // namespace misstep
