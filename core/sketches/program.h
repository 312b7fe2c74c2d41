#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "fdr/task.h"

namespace misstep {

// The features and rules of a sketch as flat lists, which the Python side compiles from a file for one task.
//
// Values are sets: of objects (for a concept; a proposition is the set with object 0 or the empty set), or of pairs of
// objects (for a role). Each set is the target of one step, or is given by atoms: some hold in every state, others hold where
// a variable has a certain value. Features are numbers; a Boolean is 0 or 1.
struct SketchProgram {
    enum class SetKind : std::uint8_t { objects, pairs };
    enum class StepCode : std::uint8_t {
        intersect,   // of two sets of one kind
        complement,  // of a set of objects
        some,        // objects with a partner (pairs a) among the objects b
        all,         // objects all of whose partners (pairs a) are among the objects b
        equal,       // objects with the same partners in the pairs a and in the pairs b
        inverse,     // of pairs
        closure,     // the transitive closure of pairs
        restrict_to  // pairs of a whose second part is among the objects b
    };
    struct Step {
        StepCode code;
        int target;
        int a;
        int b;  // not used by complement, inverse and closure
    };
    // The pair (from, to) belongs to the set, or the object `to` if it is a set of objects.
    struct Member {
        int set;
        int from;
        int to;
    };
    struct FactMember {
        Fact fact;
        Member member;
    };
    enum class FeatureCode : std::uint8_t {
        nonempty,  // 1 if the set a has a member, else 0
        count,     // members of the set a
        distance   // steps along the pairs b from the nearest of the objects a to one of the objects c
    };
    struct Feature {
        FeatureCode code;
        int a;
        int b;  // b and c are only used for distances
        int c;
    };
    enum class Test : std::uint8_t { positive, zero, increased, decreased, unchanged };
    struct Literal {
        Test test;
        int feature;
    };
    struct Rule {
        std::vector<Literal> conditions;  // positive or zero, before the step
        std::vector<Literal> effects;     // positive and zero refer to the value after the step
    };

    int objects = 0;
    std::vector<SetKind> sets;
    std::vector<Member> always;
    std::vector<FactMember> sometimes;
    std::vector<Step> steps;  // a step reads only sets that are complete before it
    std::vector<Feature> features;
    std::vector<Rule> rules;

    int words() const { return objects == 0 ? 1 : (objects + 63) / 64; }
    std::size_t size(int set) const {
        return static_cast<std::size_t>(words()) * (sets[set] == SetKind::pairs ? objects : 1);
    }
    // Throws std::invalid_argument if a list refers to something that does not exist.
    void check(const Task &task) const;
};

// The distance where there is no path: larger than every other number, and equal to itself.
inline constexpr std::int32_t NO_WAY = std::numeric_limits<std::int32_t>::max();

}  // namespace misstep
