#pragma once

#include <span>

#include "base/limits.h"
#include "safety/system.h"

namespace misstep::safety {

// How many labels other than the policy's a strategy may take on a run: a value below UNBOUNDED, or UNBOUNDED itself. A safe
// strategy with finitely many deviations needs no more of them than there are states, so larger finite radii are not needed.
using Radius = std::uint32_t;
inline constexpr Radius UNBOUNDED = 1U << 30;
// Larger than any radius, including the unbounded one: stands for an unknown radius. (With UNBOUNDED here, every
// state would look safe within the unbounded radius from the start.)
inline constexpr Radius NOT_KNOWN = 1U << 31;

enum class Answer : std::uint8_t { safe, not_safe, unknown };
const char *name(Answer answer);

// What is proven about a state that is not terminal. J is the least number of deviations of a safe strategy.
struct Facts {
    Radius lower = 0;           // J >= lower
    Radius upper = NOT_KNOWN;   // J <= upper, unless it is NOT_KNOWN
    bool lost = false;          // no strategy is safe
    bool safe = false;          // some strategy is safe, with any number of deviations
};

struct Decision {
    Answer answer = Answer::unknown;
    Limit limit = Limit::none;  // what ended the work, if unknown
    Progress progress;          // evaluations: nodes evaluated (pushed, backed up); expansions: states expanded
    std::uint64_t policy_calls = 0;
};

struct Step {
    StateId state;
    LabelId label;
};

// Decides whether states are safe, or safe within a radius.
//
// All deciders compute, lazily and around the states they are asked about, the least solution J of
//     J(s) = U if s is unsafe, 0 if s is terminal, else min over labels a of c(s, a) + max over outcomes t of J(t),
// where c is 1 for deviations and 0 for the policy's label, U = r + 1, and s is r-safe if J(s) <= r. Without a bound c is always 0,
// U is 1, and s is safe if J(s) = 0. The equation has several solutions where there are cycles; in the least one a state is unsafe
// only if the adversary can really force an unsafe state.
// Everything that is kept from one question to the next is proven: a limit ends a question as `unknown` and leaves nothing behind
// that was only assumed. Facts hold for all radii: a state that is safe within r is safe within r + 1 and without a bound, and a
// state that is not safe without a bound is not safe within any r. Facts that do not depend on the policy survive a change of policy.
class Decider {
   public:
    explicit Decider(System &system) : system_(system), policy_version_(system.policy_version()) {}
    virtual ~Decider() = default;
    Decider(const Decider &) = delete;
    Decider &operator=(const Decider &) = delete;

    System &system() { return system_; }
    Decision decide(StateId id, Radius radius, const Limits &limits);
    // What is known without a search.
    Answer known(StateId id, Radius radius);
    Facts facts(StateId id);

    // Takes over from a decider of the same system which states are lost: they are lost within every radius. Nothing else can be
    // taken over from another decider, and some deciders ignore this call.
    void adopt_lost(Decider &other);

    // The least radius up to `largest` for which the state is safe; else UNBOUNDED if it is safe without a bound; NOT_KNOWN if it
    // is not safe or if a limit was reached, which the answer in `decision` tells apart.
    Radius smallest_radius(StateId id, Radius largest, const Limits &limits, Decision &decision);

    // A safe strategy from a state that is known to be safe within the radius: every state that it can reach, with the label
    // to take; goals and dead ends are left out. The label depends on the state alone, not on the path to it. Throws
    // std::invalid_argument if the state is not known to be safe.
    std::vector<Step> strategy(StateId id, Radius radius) { return strategy(std::span(&id, 1), radius); }
    // One strategy for several such states: every state that it can reach from any of them, each once.
    std::vector<Step> strategy(std::span<const StateId> ids, Radius radius);

    virtual std::size_t bytes() const = 0;

   protected:
    // Counts the work of one question and ends it by an exception when a limit is reached.
    class Meter {
       public:
        struct Stop {
            Limit limit;
        };
        Meter(Decider &decider, const Limits &limits)
            : decider_(decider), watch_(limits), expansions_(decider.system_.expansions()) {}
        void tick() {
            progress_.expansions = decider_.system_.expansions() - expansions_;
            const Limit limit = watch_.check(progress_, [&] { return decider_.bytes() + decider_.system_.bytes(); });
            if (limit != Limit::none) throw Stop{limit};
            ++progress_.evaluations;
        }
        Progress progress();

       private:
        Decider &decider_;
        LimitWatch watch_;
        Progress progress_;
        std::uint64_t expansions_;
    };

    // Works until the state is known to be safe, or not, within the radius. The state is open, and nothing is known about it.
    virtual void solve(StateId id, Radius radius, Meter &meter) = 0;
    virtual Facts stored(StateId id) const = 0;
    // The label, as an action of the state, of a safe strategy for the radius. The state is known to be safe within some radius.
    virtual std::uint32_t choice(StateId id, bool bounded) = 0;
    virtual void forget_policy() = 0;
    virtual void lose(StateId) {}  // another decider has proven that the state, which is open, is lost

    System &system_;

   private:
    void follow_policy();
    std::uint32_t policy_version_;
};

}  // namespace misstep::safety
