#include "fdr/sas_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/interrupt.h"

namespace misstep {

namespace {

std::string quoted(std::string_view text) {
    constexpr std::size_t SHOWN = 40;
    std::string result = "'";
    for (char c : text.substr(0, SHOWN)) result += (c >= ' ' && c < 127) ? c : '?';
    return result + (text.size() > SHOWN ? "...'" : "'");
}

class Reader {
   public:
    explicit Reader(std::string_view text) : text_(text) {}

    Task task() {
        expect("begin_version");
        const int version = number("the version number 3");
        if (version != 3) fail("SAS version " + std::to_string(version), "version 3");
        expect("end_version");
        expect("begin_metric");
        const bool metric = number("0 or 1", 0, 1) == 1;
        expect("end_metric");
        read_variables();
        std::vector<std::vector<Fact>> mutex_groups = read_mutex_groups();
        std::vector<int> initial = read_initial();
        std::vector<Fact> goal = read_goal();
        std::vector<Task::RawOperator> operators = read_operators(metric);
        std::vector<Axiom> axioms = read_axioms();
        while (position_ < text_.size())
            if (!next("the end of the file").empty()) fail("text after the last section", "the end of the file");
        return Task(std::move(variables_), std::move(mutex_groups), std::move(initial), std::move(goal),
                    std::move(operators), std::move(axioms), metric);
    }

   private:
    [[noreturn]] void fail(const std::string &what, const std::string &expected) const {
        throw SasError(what, expected, line_);
    }

    std::string_view next(const std::string &expected) {
        ++line_;
        if (position_ >= text_.size()) fail("the file ends here", expected);
        const std::size_t end = std::min(text_.find('\n', position_), text_.size());
        std::string_view line = text_.substr(position_, end - position_);
        position_ = end + 1;
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
        return line;
    }

    // A name without blanks at its ends and with single blanks inside: the translator writes a blank behind the name of an
    // action without parameters.
    std::string name_line(const char *of) {
        const std::string expected = "the name of " + std::string(of);
        std::string name;
        for (char c : next(expected)) {
            const bool blank = c == ' ' || c == '\t' || c == '\r';
            if (!blank) name += c;
            else if (!name.empty() && name.back() != ' ') name += ' ';
        }
        if (!name.empty() && name.back() == ' ') name.pop_back();
        if (name.empty()) fail("found an empty line", expected);
        return name;
    }

    void expect(const char *marker) {
        const std::string expected = "'" + std::string(marker) + "'";
        const std::string_view line = next(expected);
        if (line != marker) fail("found " + quoted(line), expected);
    }

    // Takes the next number off `rest`.
    int take(std::string_view &rest, const std::string &expected, int low, int high) const {
        int value = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        const bool complete = end == rest.data() + rest.size() || *end == ' ';
        if (error == std::errc::result_out_of_range) fail("the number " + quoted(rest) + " is too large", expected);
        if (error != std::errc() || !complete) fail("found " + quoted(rest), expected);
        if (value < low || value > high)
            fail("the number " + std::to_string(value) + " is out of range",
                 expected + " from " + std::to_string(low) + " to " + std::to_string(high));
        rest.remove_prefix(end - rest.data());
        while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
        return value;
    }
    void finish(std::string_view rest, const std::string &expected) const {
        if (!rest.empty()) fail("extra text " + quoted(rest), expected);
    }
    int number(const std::string &expected, int low = 0, int high = std::numeric_limits<int>::max()) {
        std::string_view rest = next(expected);
        const int value = take(rest, expected, low, high);
        finish(rest, expected);
        return value;
    }
    // A count of things that take at least one character each. A count that is larger than the rest of the file is refused
    // before memory is reserved for it.
    int count(const std::string &of) {
        const int value = number("the number of " + of);
        if (static_cast<std::size_t>(value) > text_.size() - std::min(position_, text_.size()))
            fail(std::to_string(value) + " " + of + " do not fit in the rest of the file", "the number of " + of);
        return value;
    }

    int take_variable(std::string_view &rest, const std::string &of) const {
        return take(rest, "a variable number of " + of, 0, static_cast<int>(variables_.size()) - 1);
    }
    int take_value(std::string_view &rest, int variable, const std::string &of, int low = 0) const {
        return take(rest, "a value of variable " + std::to_string(variable) + " of " + of, low,
                    static_cast<int>(variables_[variable].values.size()) - 1);
    }
    Fact take_fact(std::string_view &rest, const std::string &of) const {
        const int variable = take_variable(rest, of);
        return {variable, take_value(rest, variable, of)};
    }
    Fact fact_line(const std::string &of) {
        std::string_view rest = next("a variable and a value of " + of);
        const Fact fact = take_fact(rest, of);
        finish(rest, "a variable and a value of " + of);
        return fact;
    }

    // A condition may mention each variable at most once.
    void add_to_condition(std::vector<Fact> &condition, Fact fact, const char *of) const {
        for (const Fact &other : condition)
            if (other.variable == fact.variable)
                fail(std::string(of) + " names variable " + std::to_string(fact.variable) + " twice",
                     "each variable once");
        condition.push_back(fact);
    }

    void read_variables() {
        const int n = count("variables");
        for (int v = 0; v < n; ++v) {
            expect("begin_variable");
            Variable variable;
            variable.name = name_line("a variable");
            variable.axiom_layer = number("an axiom layer, or -1", -1);
            const int values = count("values");
            if (values == 0) fail("a variable with no value", "at least one value");
            for (int i = 0; i < values; ++i) variable.values.push_back(name_line("a value"));
            expect("end_variable");
            variables_.push_back(std::move(variable));
        }
    }

    std::vector<std::vector<Fact>> read_mutex_groups() {
        std::vector<std::vector<Fact>> groups;
        const int n = count("mutex groups");
        for (int g = 0; g < n; ++g) {
            expect("begin_mutex_group");
            std::vector<Fact> group;
            const int facts = count("facts of a mutex group");
            for (int i = 0; i < facts; ++i) group.push_back(fact_line("a mutex group"));
            expect("end_mutex_group");
            groups.push_back(std::move(group));
        }
        return groups;
    }

    std::vector<int> read_initial() {
        expect("begin_state");
        std::vector<int> initial;
        for (const Variable &variable : variables_)
            initial.push_back(number("a value of variable " + std::to_string(initial.size()) + " of the initial state",
                                     0, static_cast<int>(variable.values.size()) - 1));
        expect("end_state");
        return initial;
    }

    std::vector<Fact> read_goal() {
        expect("begin_goal");
        std::vector<Fact> goal;
        const int n = count("goal facts");
        if (n == 0) fail("the task has no goal", "at least one goal fact");
        for (int i = 0; i < n; ++i) add_to_condition(goal, fact_line("the goal"), "the goal");
        expect("end_goal");
        return goal;
    }

    void add_precondition(std::vector<Fact> &preconditions, Fact fact) const {
        for (const Fact &other : preconditions)
            if (other.variable == fact.variable && other.value != fact.value)
                fail("operator requires two values of variable " + std::to_string(fact.variable), "one value");
        preconditions.push_back(fact);
    }

    std::vector<Task::RawOperator> read_operators(bool metric) {
        std::vector<Task::RawOperator> operators;
        const int n = count("operators");
        for (int i = 0; i < n; ++i) {
            let_interrupt();
            expect("begin_operator");
            Task::RawOperator op;
            op.name = name_line("an operator");
            const int prevail = count("prevail conditions");
            for (int k = 0; k < prevail; ++k)
                add_to_condition(op.preconditions, fact_line("a prevail condition"), "the prevail condition");
            const int effects = count("effects");
            for (int k = 0; k < effects; ++k) {
                const std::string expected = "an effect: conditions, variable, old value, new value";
                std::string_view rest = next(expected);
                Task::RawEffect effect;
                const int conditions =
                    take(rest, "the number of effect conditions", 0, std::numeric_limits<int>::max());
                for (int c = 0; c < conditions; ++c)
                    add_to_condition(effect.conditions, take_fact(rest, "an effect condition"), "the effect condition");
                effect.fact.variable = take_variable(rest, "an effect");
                const int old_value = take_value(rest, effect.fact.variable, "an effect", -1);
                effect.fact.value = take_value(rest, effect.fact.variable, "an effect");
                finish(rest, expected);
                if (variables_[effect.fact.variable].axiom_layer != -1)
                    fail("an operator changes the derived variable " + std::to_string(effect.fact.variable),
                         "only axioms to do so");
                if (old_value != -1) add_precondition(op.preconditions, {effect.fact.variable, old_value});
                op.effects.push_back(std::move(effect));
            }
            op.cost = number("an operator cost", 0, static_cast<int>(MAX_OPERATOR_COST));
            if (!metric) op.cost = 1;
            expect("end_operator");
            operators.push_back(std::move(op));
        }
        return operators;
    }

    std::vector<Axiom> read_axioms() {
        std::vector<Axiom> axioms;
        const int n = count("axioms");
        for (int i = 0; i < n; ++i) {
            expect("begin_rule");
            Axiom axiom;
            const int body = count("facts of an axiom");
            for (int k = 0; k < body; ++k) add_to_condition(axiom.body, fact_line("an axiom"), "the axiom");
            std::string_view rest = next("the head of an axiom: variable, old value, new value");
            axiom.head.variable = take_variable(rest, "an axiom");
            axiom.previous_value = take_value(rest, axiom.head.variable, "an axiom", -1);
            axiom.head.value = take_value(rest, axiom.head.variable, "an axiom");
            finish(rest, "the head of an axiom");
            if (variables_[axiom.head.variable].axiom_layer == -1)
                fail("an axiom sets variable " + std::to_string(axiom.head.variable) + ", which is not derived",
                     "a derived variable");
            expect("end_rule");
            axioms.push_back(std::move(axiom));
        }
        return axioms;
    }

    std::string_view text_;
    std::size_t position_ = 0;
    int line_ = 0;
    std::vector<Variable> variables_;
};

}  // namespace

Task read_sas(std::string_view text) { return Reader(text).task(); }

}  // namespace misstep
