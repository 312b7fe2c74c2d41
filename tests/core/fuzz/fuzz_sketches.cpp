// A sketch that refers to something that does not exist is refused, and all others decide in every state.
#include <stdexcept>

#include "../cpp/tasks.h"
#include "bytes.h"
#include "fdr/successors.h"
#include "sketches/sketch.h"

namespace {

using namespace misstep;
using P = SketchProgram;

const std::vector<int> SIZES{2, 3, 3};

template <class Code>
Code code_of(test::Bytes &bytes, Code last) {  // the caller has checked codes
    return static_cast<Code>(bytes.below(static_cast<int>(last) + 1));
}

std::vector<P::Literal> literals(test::Bytes &bytes, std::size_t features, P::Test last) {
    std::vector<P::Literal> list;
    for (int i = features ? bytes.below(4) : 0; i > 0; --i) {
        const auto test = code_of(bytes, bytes.rarely() ? P::Test::unchanged : last);
        list.push_back({test, bytes.index(features)});
    }
    return list;
}

// The sets of a program: the first ones are given by members, the others are computed.
class Sets {
   public:
    Sets(test::Bytes &bytes, P &program) : bytes_(bytes), program_(program) {}
    void give() {
        for (int i = 2 + bytes_.below(4); i > 0; --i) add(bytes_.below(2) ? P::SetKind::pairs : P::SetKind::objects);
    }
    P::Member member() {
        const int set = bytes_.index(program_.sets.size());
        const bool pairs =
            set >= 0 && static_cast<std::size_t>(set) < program_.sets.size() && kind(set) == P::SetKind::pairs;
        const auto objects = static_cast<std::size_t>(program_.objects > 0 ? program_.objects : 1);
        const int from = bytes_.index(pairs ? objects : 1);
        return {set, from, bytes_.index(objects)};
    }
    // A set of this kind, if there is one; rarely another one.
    int any(P::SetKind wanted) {
        const int start = bytes_.index(program_.sets.size());
        if (start < 0 || static_cast<std::size_t>(start) >= program_.sets.size() || bytes_.rarely()) return start;
        const int count = static_cast<int>(program_.sets.size());
        for (int i = 0; i < count; ++i)
            if (kind((start + i) % count) == wanted) return (start + i) % count;
        return start;
    }
    void compute() {
        using Code = P::StepCode;
        using Kind = P::SetKind;
        const auto code = code_of(bytes_, Code::restrict_to);
        Kind target = Kind::objects, a = Kind::pairs, b = Kind::objects;
        if (code == Code::intersect) target = a = b = bytes_.below(2) ? Kind::pairs : Kind::objects;
        if (code == Code::complement) a = Kind::objects;
        if (code == Code::equal) b = Kind::pairs;
        if (code == Code::inverse || code == Code::closure || code == Code::restrict_to) target = Kind::pairs;
        const int left = any(a), right = any(b);
        add(target);
        const int last = static_cast<int>(program_.sets.size()) - 1;
        program_.steps.push_back({code, bytes_.rarely() ? bytes_.take<std::int8_t>() : last, left, right});
    }

   private:
    P::SetKind kind(int set) const { return program_.sets[static_cast<std::size_t>(set)]; }
    void add(P::SetKind kind) { program_.sets.push_back(kind); }

    test::Bytes &bytes_;
    P &program_;
};

P program_of(test::Bytes &bytes) {
    P program;
    // Sets may take 2^29 bytes. This limit is not what is tested here.
    program.objects = bytes.rarely() ? bytes.take<std::int8_t>() : bytes.below(8) ? bytes.below(6) : bytes.below(140);
    Sets sets(bytes, program);
    sets.give();
    for (int i = bytes.below(8); i > 0; --i) program.always.push_back(sets.member());
    for (int i = bytes.below(8); i > 0; --i) {
        const int variable = bytes.index(SIZES.size());
        const bool known = variable >= 0 && static_cast<std::size_t>(variable) < SIZES.size();
        const int value = bytes.index(known ? static_cast<std::size_t>(SIZES[static_cast<std::size_t>(variable)]) : 0);
        program.sometimes.push_back({{variable, value}, sets.member()});
    }
    for (int i = bytes.below(8); i > 0; --i) sets.compute();
    for (int i = bytes.below(6); i > 0; --i) {
        const auto code = code_of(bytes, P::FeatureCode::distance);
        const int a = sets.any(P::SetKind::objects), b = sets.any(P::SetKind::pairs);
        program.features.push_back({code, a, b, sets.any(P::SetKind::objects)});
    }
    for (int i = bytes.below(5); i > 0; --i) {
        std::vector<P::Literal> conditions = literals(bytes, program.features.size(), P::Test::zero);
        program.rules.push_back({std::move(conditions), literals(bytes, program.features.size(), P::Test::unchanged)});
    }
    return program;
}

// What a sketch permits in a state does not depend on the states that it was asked about before: values of features are
// updated from one state to the next, and a new sketch computes them for the first time.
void same_as_new(const P &program, const Task &task, Sketch::Choice choice, const int *state,
                 const std::vector<OperatorId> &applicable, const std::vector<OperatorId> &expected) {
    Sketch fresh(program, task, choice);
    std::vector<OperatorId> permitted;
    fresh.permitted(state, applicable, permitted);
    if (permitted != expected) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const Task task = test::random_task(SIZES, 8, 5);
    static const SuccessorGenerator successors(task);
    test::Bytes bytes(data, size);
    const auto choice = code_of(bytes, Sketch::Choice::hash);
    try {
        const P program = program_of(bytes);
        Sketch sketch(program, task, choice);
        if (!program.rules.empty()) ++test::accepted;
        std::vector<OperatorId> applicable, permitted;
        std::vector<int> state(SIZES.size());
        for (int number = 0; number < 18; ++number) {
            state = {number % 2, number / 2 % 3, number / 6};
            successors.applicable(state.data(), applicable);
            permitted.clear();
            sketch.permitted(state.data(), applicable, permitted);
            if (number % 5 == 0) same_as_new(program, task, choice, state.data(), applicable, permitted);
            const OperatorId chosen = sketch.choose(state.data(), applicable);
            if (permitted.empty() != (chosen == NO_OPERATOR)) __builtin_trap();
            if (!permitted.empty() && std::find(permitted.begin(), permitted.end(), chosen) == permitted.end())
                __builtin_trap();
        }
    } catch (const std::invalid_argument &) {
    }
    return 0;
}
