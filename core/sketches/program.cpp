#include "sketches/program.h"

#include <stdexcept>

namespace misstep {

namespace {

constexpr int MAX_OBJECTS = 1 << 15;
constexpr std::size_t MAX_WORDS = std::size_t{1} << 26;

void require(bool right, const char *what) {
    if (!right) throw std::invalid_argument(what);
}

class Checker {
   public:
    explicit Checker(const SketchProgram &program) : program_(program), complete_(program.sets.size(), 1) {}

    void sets() const {
        require(program_.objects >= 0 && program_.objects <= MAX_OBJECTS, "a sketch over too many objects");
        std::size_t words = 0;
        for (int set = 0; set < static_cast<int>(program_.sets.size()); ++set) {
            words += program_.size(set);
            require(words <= MAX_WORDS, "a sketch with too large sets");
        }
    }

    void members(const Task &task) const {
        for (const SketchProgram::Member &member : program_.always) this->member(member);
        for (const SketchProgram::FactMember &some : program_.sometimes) {
            const Fact fact = some.fact;
            require(fact.variable >= 0 && fact.variable < task.variable_count() && fact.value >= 0 &&
                        fact.value < task.domain_sizes()[fact.variable],
                    "a fact that the task does not have");
            member(some.member);
        }
    }

    void steps() {
        for (const SketchProgram::Step &step : program_.steps) {
            require(in_range(step.target), "a set that is not there");
            require(complete_[step.target] != 0, "two steps with one target");
            complete_[step.target] = 0;
        }
        for (const SketchProgram::Member &member : program_.always)
            require(complete_[member.set] != 0, "members of a computed set");
        for (const SketchProgram::FactMember &some : program_.sometimes)
            require(complete_[some.member.set] != 0, "members of a computed set");
        for (const SketchProgram::Step &step : program_.steps) {
            check_operands(step);
            complete_[step.target] = 1;
        }
    }

    void features() const {
        using Code = SketchProgram::FeatureCode;
        for (const SketchProgram::Feature &feature : program_.features) {
            require(in_range(feature.a), "a set that is not there");
            if (feature.code != Code::distance) continue;
            require(objects(feature.a) && pairs(feature.b) && objects(feature.c), "a distance between other sets");
        }
    }

    void rules() const {
        using Test = SketchProgram::Test;
        for (const SketchProgram::Rule &rule : program_.rules) {
            for (const SketchProgram::Literal &literal : rule.conditions)
                require(is_feature(literal.feature) && (literal.test == Test::positive || literal.test == Test::zero),
                        "a condition that is none");
            for (const SketchProgram::Literal &literal : rule.effects)
                require(is_feature(literal.feature), "an effect on a feature that is not there");
        }
    }

   private:
    bool in_range(int set) const { return set >= 0 && set < static_cast<int>(program_.sets.size()); }
    bool objects(int set) const { return in_range(set) && program_.sets[set] == SketchProgram::SetKind::objects; }
    bool pairs(int set) const { return in_range(set) && program_.sets[set] == SketchProgram::SetKind::pairs; }
    bool is_feature(int feature) const { return feature >= 0 && feature < static_cast<int>(program_.features.size()); }

    void member(const SketchProgram::Member &member) const {
        require(in_range(member.set), "a set that is not there");
        const int rows = pairs(member.set) ? program_.objects : 1;
        const int columns = pairs(member.set) || program_.objects > 0 ? program_.objects : 1;
        require(member.from >= 0 && member.from < rows && member.to >= 0 && member.to < columns,
                "an object that is not there");
    }

    void check_operands(const SketchProgram::Step &step) const {
        using Code = SketchProgram::StepCode;
        const auto read = [&](bool right) { require(right, "a step on sets of the wrong kind"); };
        switch (step.code) {
            case Code::intersect:
                read(in_range(step.a) && in_range(step.b) && pairs(step.a) == pairs(step.target) &&
                     pairs(step.b) == pairs(step.target));
                break;
            case Code::complement: read(objects(step.a) && objects(step.target)); break;
            case Code::some:
            case Code::all: read(pairs(step.a) && objects(step.b) && objects(step.target)); break;
            case Code::equal: read(pairs(step.a) && pairs(step.b) && objects(step.target)); break;
            case Code::inverse:
            case Code::closure: read(pairs(step.a) && pairs(step.target)); break;
            case Code::restrict_to: read(pairs(step.a) && objects(step.b) && pairs(step.target)); break;
            default: throw std::invalid_argument("a step that is none");
        }
        const bool one = step.code == Code::complement || step.code == Code::inverse || step.code == Code::closure;
        require(complete_[step.a] && (one || complete_[step.b]), "a step on a set that comes later");
    }

    const SketchProgram &program_;
    std::vector<char> complete_;
};

}  // namespace

void SketchProgram::check(const Task &task) const {
    Checker checker(*this);
    checker.sets();
    checker.members(task);
    checker.steps();
    checker.features();
    checker.rules();
}

}  // namespace misstep
