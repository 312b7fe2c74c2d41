#include "improve/action_elimination.h"

#include <utility>

namespace misstep {

namespace {

// Greedy elimination is cubic. For longer plans it could take longer than the searches that follow.
constexpr std::size_t LONGEST_GREEDY = 300;

// The steps of one plan, prepared to be executed many times: the preconditions of a step are stored by word of a packed
// state, so that a step reads and writes a few words and allocates nothing.
class Steps {
   public:
    Steps(const SuccessorGenerator &generator, std::span<const OperatorId> plan) : generator_(generator), plan_(plan) {
        const StatePacker &packer = generator.packer();
        offsets_.push_back(0);
        for (OperatorId op : plan) {
            for (const Fact &fact : generator.task().preconditions(op)) {
                const Test test{packer.mask_of(fact.variable), packer.bits_of(fact.variable, fact.value),
                                packer.word_of(fact.variable)};
                // Consecutive facts of the same word are tested together.
                if (tests_.size() > offsets_.back() && tests_.back().word == test.word) {
                    tests_.back().mask |= test.mask;
                    tests_.back().bits |= test.bits;
                } else {
                    tests_.push_back(test);
                }
            }
            offsets_.push_back(static_cast<std::uint32_t>(tests_.size()));
        }
    }

    bool applicable(std::uint32_t step, const std::uint64_t *state) const {
        for (std::uint32_t i = offsets_[step]; i < offsets_[step + 1]; ++i)
            if ((state[tests_[i].word] & tests_[i].mask) != tests_[i].bits) return false;
        return true;
    }
    OperatorId op(std::uint32_t step) const { return plan_[step]; }
    Cost cost(std::uint32_t step) const { return generator_.task().cost(plan_[step]); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(plan_.size()); }

   private:
    struct Test {
        std::uint64_t mask;
        std::uint64_t bits;
        int word;
    };
    const SuccessorGenerator &generator_;
    std::span<const OperatorId> plan_;
    std::vector<Test> tests_;
    std::vector<std::uint32_t> offsets_;
};

// A state to which operators are applied in place: two buffers that are swapped.
class Cursor {
   public:
    explicit Cursor(const SuccessorGenerator &generator)
        : generator_(generator), state_(generator.packer().words()), next_(state_.size()) {}

    void reset(const int *values) { generator_.packer().pack(values, state_.data()); }
    void reset(const Cursor &other) { std::copy(other.state_.begin(), other.state_.end(), state_.begin()); }
    void apply(OperatorId op) {
        generator_.apply(op, state_.data(), next_.data());
        state_.swap(next_);
    }
    const std::uint64_t *state() const { return state_.data(); }
    bool is_goal() const { return generator_.is_goal(state_.data()); }

   private:
    const SuccessorGenerator &generator_;
    std::vector<std::uint64_t> state_;
    std::vector<std::uint64_t> next_;
};

class Eliminator {
   public:
    Eliminator(const SuccessorGenerator &generator, const int *start, std::span<const OperatorId> plan,
               const Limits &limits)
        : steps_(generator, plan), start_(start), here_(generator), probe_(generator), watch_(limits) {
        for (std::uint32_t step = 0; step < steps_.size(); ++step) left_.push_back(step);
        kept_.reserve(left_.size());
    }

    Plan first() {
        here_.reset(start_);
        std::size_t i = 0;
        while (i < left_.size() && !stopped()) {
            if (replay_without(i)) {
                remove(i);
            } else {
                here_.apply(steps_.op(left_[i]));
                ++i;
            }
        }
        return plan();
    }

    Plan greedy() {
        while (true) {
            Saving best;
            std::size_t at = left_.size();
            here_.reset(start_);
            for (std::size_t i = 0; i < left_.size(); ++i) {
                if (stopped()) return plan();
                if (replay_without(i) && (at == left_.size() || best < saving_)) {
                    best = saving_;
                    at = i;
                }
                here_.apply(steps_.op(left_[i]));
            }
            if (at == left_.size()) return plan();
            here_.reset(start_);
            for (std::size_t i = 0; i < at; ++i) here_.apply(steps_.op(left_[i]));
            replay_without(at);
            remove(at);
        }
    }

   private:
    // Sets of cost zero are removed too, since the plan gets shorter.
    struct Saving {
        Cost cost = 0;
        std::size_t steps = 0;
        friend auto operator<=>(const Saving &, const Saving &) = default;
    };

    // Executes the steps after step i from the state before it, and drops the steps that are not applicable. True if that
    // ends in a goal; kept_ holds the executed steps, saving_ the cost and number of the others.
    bool replay_without(std::size_t i) {
        kept_.clear();
        saving_ = {steps_.cost(left_[i]), 1};
        probe_.reset(here_);
        for (std::size_t j = i + 1; j < left_.size(); ++j) {
            const std::uint32_t step = left_[j];
            if (steps_.applicable(step, probe_.state())) {
                probe_.apply(steps_.op(step));
                kept_.push_back(step);
            } else {
                saving_.cost += steps_.cost(step);
                ++saving_.steps;
            }
        }
        return probe_.is_goal();
    }
    void remove(std::size_t i) {
        left_.resize(i);
        left_.insert(left_.end(), kept_.begin(), kept_.end());
    }
    bool stopped() {
        return watch_.check(progress_, [] { return std::size_t{0}; }) != Limit::none;
    }
    Plan plan() const {
        Plan result;
        for (std::uint32_t step : left_) result.push_back(steps_.op(step));
        return result;
    }

    Steps steps_;
    const int *start_;
    Cursor here_;
    Cursor probe_;
    LimitWatch watch_;
    Progress progress_;
    std::vector<std::uint32_t> left_;
    std::vector<std::uint32_t> kept_;
    Saving saving_;
};

}  // namespace

Plan eliminate(const SuccessorGenerator &generator, const int *start, std::span<const OperatorId> plan,
               Elimination kind, const Limits &limits) {
    Eliminator eliminator(generator, start, plan, limits);
    return kind == Elimination::first ? eliminator.first() : eliminator.greedy();
}

Plan best_elimination(const SuccessorGenerator &generator, const int *start, std::span<const OperatorId> plan,
                      const Limits &limits) {
    const Task &task = generator.task();
    Plan first = eliminate(generator, start, plan, Elimination::first, limits);
    if (plan.size() > LONGEST_GREEDY) return first;
    Plan greedy = eliminate(generator, start, plan, Elimination::greedy, limits);
    const auto key = [&](const Plan &p) { return std::pair(cost_of(task, p), p.size()); };
    return key(greedy) < key(first) ? greedy : first;
}

}  // namespace misstep
