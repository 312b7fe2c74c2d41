#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "jani/linear.h"
#include "jani/narrowing.h"
#include "jani/table_search.h"
#include "jani/task.h"

namespace misstep::jani {

// Draws start states, uniformly.
//
// A list is used as it is. A condition is split into conjuncts, and each conjunct on a single slot shrinks the domain of
// that slot. The remaining states are enumerated if that takes at most 2^20 steps (with look-ahead on linear conjuncts).
// Otherwise values are proposed and checked: each slot uniformly in its domain, except that the slots of one linear
// equation over integers are drawn together, by counting the completions of each partial sum. Counting proposes solutions
// of that equation uniformly, so that the proposals that satisfy the other conjuncts are uniform too. Without other
// conjuncts no proposal is rejected: "the loads sum to 15" is hopeless for plain rejection and immediate here.
//
// If almost all proposals are rejected, the slots depend on each other, as in "each block lies on another one, and none on
// itself". Then a search propagates the consequences of each value before it chooses the next one, by tables
// (table_search.h) or, where domains are too large for tables, by intervals (narrowing.h). It enumerates the solutions if
// there are not too many. Otherwise single solutions are searched for at random, which is the only case that is not uniform.
class InitialStates {
   public:
    enum class Method { listed, enumerated, counted, rejection, searched };
    // What each way to list all states may take before another one is tried.
    struct Steps {
        std::uint64_t enumeration = 1 << 20;
        std::uint64_t branching = 1 << 19;
        std::uint64_t tables = 1 << 22;
        int proposals = 20'000;  // drawn to find out whether almost all of them are rejected
    };
    static constexpr std::uint64_t MOST_WORDS = 16;         // of listed states, for each allowed step
    static constexpr std::uint64_t MOST_MEMORY = 1 << 28;  // words of all listed states
    static constexpr std::uint64_t REJECTION_TRIES = 1'000'000;
    static constexpr std::uint64_t SEARCH_TRIES = 10'000;

    explicit InitialStates(std::shared_ptr<const Task> task) : InitialStates(std::move(task), Steps()) {}
    InitialStates(std::shared_ptr<const Task> task, const Steps &steps);

    Method method() const { return method_; }
    // The number of start states, if it is known and fits in 64 bits.
    std::optional<std::uint64_t> count() const;

    // Throws a ModelError if there is no start state, or if none was found in `tries`.
    void sample(CounterRandom &random, Word *values, std::uint64_t tries = REJECTION_TRIES);

    // All start states, each once, packed one after the other. Throws a ModelError if there are infinitely many. Returns nothing if
    // that takes more than `max_steps` steps, or if `go_on`, which is called now and then, returns false.
    std::optional<std::vector<std::uint64_t>> enumerate(std::uint64_t max_steps,
                                                        const std::function<bool()> &go_on = {});

   private:
    __extension__ using Wide = unsigned __int128;

    struct Domain {
        Type type;
        bool listed = false;       // `values` are all of them; else the range [low, high]
        std::vector<Word> values{};
        Word low = 0, high = 0;
        double real_low = 0, real_high = 0;
        bool rounded = false;  // bounds of a real that were computed, so that there may be solutions beside them
        std::uint64_t size() const;  // 0 if infinite (or 2^64)
        Word at(std::uint64_t i) const { return listed ? values[i] : low + static_cast<Word>(i); }
    };
    struct LinearConjunct {
        std::size_t conjunct;
        Op op;  // equal or less_equal, with zero
        Linear<Word> form;
    };

    void shrink_domains();
    bool shrink_by_values(std::size_t conjunct, SlotId slot);
    bool shrink_by_bounds(std::size_t conjunct, SlotId slot, bool computed);  // from computed bounds of reals as well
    void collect_linear();
    bool prepare_counting(const LinearConjunct &equation);
    bool holds(std::size_t conjunct);
    std::optional<std::vector<std::uint64_t>> search(std::uint64_t max_steps, const std::function<bool()> &go_on);
    void prepare_narrowing();
    std::pair<std::uint64_t, std::uint64_t> left(SlotId slot) const;
    std::optional<SlotId> next_slot(bool &dead) const;
    bool passes();
    bool complete();
    std::optional<std::vector<std::uint64_t>> branch(std::uint64_t max_steps, const std::function<bool()> &go_on);
    bool descend(CounterRandom &random);
    TableSearch *tables();
    std::optional<std::vector<std::uint64_t>> branch_by_tables(std::uint64_t max_steps,
                                                               const std::function<bool()> &go_on, bool hurry = false);
    bool adopt();
    void publish(std::vector<std::uint64_t> states);
    bool is_hopeless(int proposals);
    std::uint64_t free_states() const;
    bool accepted();
    void keep(const Word *values, std::vector<std::uint64_t> &states) const;
    static bool is_too_much(const std::vector<std::uint64_t> &states, std::uint64_t max_steps) {
        return states.size() / MOST_WORDS > max_steps || states.size() > MOST_MEMORY;
    }
    std::size_t kept() const { return states_->size() / words_; }
    void propose(CounterRandom &random);
    void propose_equation(CounterRandom &random);
    bool infinite() const;

    std::shared_ptr<const Task> task_;
    const Model &model_;
    const Expressions &expressions_;
    std::size_t width_;
    std::size_t words_;  // of a packed state
    Method method_ = Method::listed;
    bool empty_ = false;
    std::vector<Word> registers_;
    std::vector<Domain> domains_;
    std::vector<std::size_t> rest_;  // conjuncts that the domains do not guarantee
    std::vector<LinearConjunct> linear_;  // those of rest_ that are linear over integers
    Task::Packed states_;  // listed or enumerated

    // Counting: ways_[k] maps a partial sum of the terms before k, minus its lowest possible value, to the number of completions.
    std::optional<std::size_t> equation_;  // the conjunct
    Linear<Word> form_;
    std::vector<Word> lowest_;
    std::vector<std::vector<Wide>> ways_;

    static constexpr std::uint64_t MAX_RETRIES = 64;  // values of one slot that a search tries
    std::optional<TableSearch> tables_;
    bool tables_tried_ = false;
    std::optional<Narrowing> narrowing_;
    std::vector<std::size_t> narrowed_;  // the conjunct of each of its conditions
};

}  // namespace misstep::jani
