#pragma once

#include <span>

#include "base/limits.h"
#include "safety/system.h"

namespace misstep::safety {

// How many labels other than the policy's a strategy may take on a run. A value below UNBOUNDED, or UNBOUNDED itself. No
// strategy needs more deviations than there are states, so finite radii above fit below.
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
    Radius upper = NOT_KNOWN;   // J <= upper, if that is a radius
    bool lost = false;          // not safe at all
    bool safe = false;          // safe, with however many deviations
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
// where c is 1 for deviations, U = r + 1 and s is r-safe if J(s) <= r; without bound c is 0, U is 1 and s is safe if J(s) = 0. The
// equation has several solutions where there are cycles; the least one says that an unsafe state can really be forced.
// Everything that is kept from one question to the next is proven: a limit ends a question as `unknown` and
// leaves nothing behind that was only assumed. Facts hold for all radii: safe within r is safe within r + 1 and without bound, not
// safe without bound is not safe within any r. Facts that do not depend on the policy survive a change of policy.
class Decider {
   public:
    explicit Decider(System &system) : system_(system), policy_version_(system.policy_version()) {}
    virtual ~Decider() = default;
    Decider(const Decider &) = delete;
    Decider &operator=(const Decider &) = delete;

    System &system() { return system_; }
    Decision decide(StateId id, Radius radius, const Limits &limits);
    // What is known without work.
    Answer known(StateId id, Radius radius);
    Facts facts(StateId id);

    // Takes over from a decider of the same system which states are lost: they are lost within every radius. Nothing else carries
    // over from one decider to another, and some take over nothing.
    void adopt_lost(Decider &other);

    // The least radius up to `largest` for which the state is safe; else UNBOUNDED if it is safe; NOT_KNOWN if it is not,
    // which the decision tells apart from a limit.
    Radius smallest_radius(StateId id, Radius largest, const Limits &limits, Decision &decision);

    // A safe strategy from a state that is known to be safe within the radius: every state that it can get to, with the label
    // to take; goals and dead ends are left out. Depends on the state alone, not on the way there. Throws
    // std::invalid_argument if the state is not known to be safe.
    std::vector<Step> strategy(StateId id, Radius radius) { return strategy(std::span(&id, 1), radius); }
    // One strategy for several such states: everything that can come up from any of them, each state once.
    std::vector<Step> strategy(std::span<const StateId> ids, Radius radius);

    virtual std::size_t bytes() const = 0;

   protected:
    // Counts the work of one question; leaves it by an exception when a limit is reached.
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
    virtual void lose(StateId) {}  // the state, which is open, is lost: proven by somebody else

    System &system_;

   private:
    void follow_policy();
    std::uint32_t policy_version_;
};

}  // namespace misstep::safety
