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

int small(test::Bytes &bytes) { return bytes.below(32) ? bytes.below(8) : bytes.take<int>(); }

template <class Code>
Code code_of(test::Bytes &bytes, Code last) {  // the caller has checked codes
    return static_cast<Code>(bytes.below(static_cast<int>(last) + 1));
}

std::vector<P::Literal> literals(test::Bytes &bytes) {
    std::vector<P::Literal> list;
    for (int i = bytes.below(4); i > 0; --i) {
        const auto test = code_of(bytes, P::Test::unchanged);
        list.push_back({test, small(bytes)});
    }
    return list;
}

P program_of(test::Bytes &bytes) {
    P program;
    // Sets may take 2^29 bytes. This limit is not what is tested here.
    program.objects = bytes.below(16) ? bytes.below(130) : static_cast<int>(bytes.take<std::int8_t>());
    for (int i = bytes.below(9); i > 0; --i)
        program.sets.push_back(bytes.below(2) ? P::SetKind::pairs : P::SetKind::objects);
    const auto member = [&]() -> P::Member {
        const int set = small(bytes), from = small(bytes);
        return {set, from, small(bytes)};
    };
    for (int i = bytes.below(6); i > 0; --i) program.always.push_back(member());
    for (int i = bytes.below(6); i > 0; --i) {
        const int variable = small(bytes), value = small(bytes);
        program.sometimes.push_back({{variable, value}, member()});
    }
    for (int i = bytes.below(8); i > 0; --i) {
        const auto code = code_of(bytes, P::StepCode::restrict_to);
        const int target = small(bytes), a = small(bytes);
        program.steps.push_back({code, target, a, small(bytes)});
    }
    for (int i = bytes.below(6); i > 0; --i) {
        const auto code = code_of(bytes, P::FeatureCode::distance);
        const int a = small(bytes), b = small(bytes);
        program.features.push_back({code, a, b, small(bytes)});
    }
    for (int i = bytes.below(5); i > 0; --i) {
        std::vector<P::Literal> conditions = literals(bytes);
        program.rules.push_back({std::move(conditions), literals(bytes)});
    }
    return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const Task task = test::random_task(SIZES, 8, 5);
    static const SuccessorGenerator successors(task);
    test::Bytes bytes(data, size);
    const auto choice = code_of(bytes, Sketch::Choice::hash);
    try {
        Sketch sketch(program_of(bytes), task, choice);
        std::vector<OperatorId> applicable, permitted;
        std::vector<int> state(SIZES.size());
        for (int number = 0; number < 18; ++number) {
            state = {number % 2, number / 2 % 3, number / 6};
            successors.applicable(state.data(), applicable);
            permitted.clear();
            sketch.permitted(state.data(), applicable, permitted);
            const OperatorId chosen = sketch.choose(state.data(), applicable);
            if (permitted.empty() != (chosen == NO_OPERATOR)) __builtin_trap();
            if (!permitted.empty() && std::find(permitted.begin(), permitted.end(), chosen) == permitted.end())
                __builtin_trap();
        }
    } catch (const std::invalid_argument &) {
    }
    return 0;
}
