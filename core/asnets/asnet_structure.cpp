#include "asnets/asnet_structure.h"

#include <stdexcept>

namespace misstep {

namespace {

void require(bool condition, const char *what) {
    if (!condition) throw std::invalid_argument(std::string("not the structure of an ASNet: ") + what);
}

bool is_partition(const std::vector<int> &begin, std::size_t parts, std::size_t size) {
    if (begin.size() != parts + 1 || begin.front() != 0 || static_cast<std::size_t>(begin.back()) != size) return false;
    for (std::size_t i = 0; i < parts; ++i)
        if (begin[i] > begin[i + 1]) return false;
    return true;
}

}  // namespace

std::vector<int> ASNetStructure::relation_counts() const {
    std::vector<int> counts(predicate_count, 0);
    for (const std::vector<int> &predicates : slots)
        for (int predicate : predicates) ++counts[predicate];
    return counts;
}

void ASNetStructure::check(const Task &task) const {
    for (const std::vector<int> &predicates : slots)
        for (int predicate : predicates)
            require(predicate >= 0 && predicate < predicate_count, "a slot without a predicate");
    require(is_partition(schema_begin, slots.size(), operators.size()), "operators are not sorted by schema");
    require(is_partition(predicate_begin, predicate_count, fact_variable.size()), "facts are not sorted by predicate");
    require(fact_value.size() == fact_variable.size() && fact_goal.size() == fact_variable.size(),
            "facts of unlike length");
    const auto domains = task.domain_sizes();
    for (std::size_t f = 0; f < fact_variable.size(); ++f) {
        const int v = fact_variable[f];
        require(v >= -1 && v < task.variable_count(), "a fact of no variable");
        require(v < 0 || (fact_value[f] >= 0 && fact_value[f] < domains[v]), "a fact of no value");
        require(fact_goal[f] == 0 || fact_goal[f] == 1, "a goal flag that is neither 0 nor 1");
    }
    require(operator_count() == task.operator_count(), "the task has more or fewer operators");
    std::vector<char> seen(operators.size(), 0);
    for (OperatorId op : operators) {
        require(op >= 0 && op < operator_count() && !seen[op], "operators are not a permutation");
        seen[op] = 1;
    }
    std::size_t at = 0;
    for (int a = 0; a < schema_count(); ++a)
        for (int o = schema_begin[a]; o < schema_begin[a + 1]; ++o)
            for (int predicate : slots[a]) {
                require(at < related.size(), "too few related facts");
                const int f = related[at++];
                require(f == MISSING || (f >= predicate_begin[predicate] && f < predicate_begin[predicate + 1]),
                        "a slot with a fact of another predicate");
            }
    require(at == related.size(), "too many related facts");
}

ASNetWeights::ASNetWeights(const ASNetStructure &structure, int hidden, int layers, std::span<const float> numbers)
    : hidden_(hidden), layers_(layers), schemas_(structure.schema_count()), predicates_(structure.predicate_count) {
    if (hidden < 1 || hidden > 1024 || layers < 1 || layers > 64)
        throw std::invalid_argument("the hidden size must be from 1 to 1024, the number of layers from 1 to 64");
    std::size_t used = 0;
    const auto take = [&](std::size_t count) {
        if (count > numbers.size() - used) throw std::invalid_argument("too few weights");
        used += count;
        return numbers.subspan(used - count, count);
    };
    const auto module = [&](int outputs, int inputs) {
        const auto matrix = take(static_cast<std::size_t>(outputs) * inputs);
        return Module{matrix, take(outputs), outputs, inputs};
    };
    for (int layer = 0; layer <= layers; ++layer)
        for (int a = 0; a < schemas_; ++a) {
            const int slots = structure.slot_count(a);
            actions_.push_back(module(layer == layers ? 1 : hidden, layer == 0 ? 2 * slots + 1 : (slots + 1) * hidden));
        }
    const std::vector<int> relations = structure.relation_counts();
    for (int layer = 0; layer < layers; ++layer)
        for (int p = 0; p < predicates_; ++p)
            propositions_.push_back(module(hidden, (relations[p] + (layer > 0)) * hidden));
    if (used != numbers.size()) throw std::invalid_argument("too many weights");
}

}  // namespace misstep
