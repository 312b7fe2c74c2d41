#include "asnets/asnet_inputs.h"

#include <algorithm>
#include <map>

namespace misstep {

ASNetInputs::Pattern ASNetInputs::pattern_of(int op, int schema, const int *related, std::vector<int> &facts) const {
    Pattern pattern;
    pattern.schema = schema;
    facts.clear();
    for (int k = 0; k < structure_.slot_count(schema); ++k) {
        const int f = related[k];
        pattern.slot_goals.push_back(f == ASNetStructure::MISSING ? 0 : structure_.fact_goal[f]);
        if (f == ASNetStructure::MISSING) {
            pattern.slot_bits.push_back(ASNetStructure::MISSING);
        } else if (structure_.fact_variable[f] < 0) {
            pattern.slot_bits.push_back(TRUE);
        } else {
            const auto known = std::find(facts.begin(), facts.end(), f);
            pattern.slot_bits.push_back(static_cast<int>(known - facts.begin()));
            if (known == facts.end()) facts.push_back(f);
        }
    }
    for (const Fact &fact : task_.preconditions(structure_.operators[op])) {
        bool follows = false;
        for (std::size_t b = 0; b < facts.size() && !follows; ++b) {
            if (structure_.fact_variable[facts[b]] != fact.variable) continue;
            const bool same = structure_.fact_value[facts[b]] == fact.value;
            // If a variable has two values, one is true exactly when the other is false.
            if (!same && task_.domain_sizes()[fact.variable] != 2) continue;
            (same ? pattern.needs_true : pattern.needs_false).push_back(static_cast<int>(b));
            follows = true;
        }
        if (!follows) pattern.open = true;
    }
    if (pattern.open) {
        pattern.needs_true.clear();
        pattern.needs_false.clear();
    }
    pattern.bits = static_cast<int>(facts.size()) + pattern.open;
    std::sort(pattern.needs_true.begin(), pattern.needs_true.end());
    std::sort(pattern.needs_false.begin(), pattern.needs_false.end());
    return pattern;
}

ASNetInputs::ASNetInputs(const ASNetStructure &structure, const SuccessorGenerator &generator,
                         const ASNetWeights &weights, const Kernels &kernels, int width, int max_bits)
    : structure_(structure), task_(generator.task()), kernels_(kernels), width_(width) {
    int most_inputs = 0;
    for (int a = 0; a < structure.schema_count(); ++a) {
        const auto &module = weights.action(0, a);
        most_inputs = std::max(most_inputs, module.inputs);
        Floats matrix(static_cast<std::size_t>(module.inputs) * width, 0.0f);
        for (int out = 0; out < module.outputs; ++out)
            for (int in = 0; in < module.inputs; ++in)
                matrix[static_cast<std::size_t>(in) * width + out] =
                    module.matrix[static_cast<std::size_t>(out) * module.inputs + in];
        matrices_.push_back(std::move(matrix));
        biases_.emplace_back(width, 0.0f);
        std::copy(module.bias.begin(), module.bias.end(), biases_.back().begin());
    }
    input_.resize(most_inputs);

    const int operators = structure.operator_count();
    first_rows_.assign(operators, 0);
    open_bit_.assign(operators, 0);
    place_.assign(operators, 0);
    std::vector<std::pair<int, Addition>> additions;  // with the fact
    std::map<Pattern, int> tables;
    std::vector<int> facts;
    int related = 0;
    for (int a = 0; a < structure.schema_count(); ++a)
        for (int o = structure.schema_begin[a]; o < structure.schema_begin[a + 1]; ++o) {
            place_[structure.operators[o]] = o;
            related_begin_.push_back(related);
            const Pattern pattern = pattern_of(o, a, structure.related.data() + related, facts);
            related += structure.slot_count(a);
            auto table = tables.find(pattern);
            if (table == tables.end()) {
                if (pattern.bits > max_bits || table_rows_ + (1 << pattern.bits) > MAX_ROWS) {
                    direct_.push_back(o);
                    direct_schema_.push_back(a);
                    continue;
                }
                table = tables.emplace(pattern, table_rows_).first;
                table_rows_ += 1 << pattern.bits;
                schema_of_row_.resize(table_rows_, a);
            }
            first_rows_[o] = table->second;
            if (pattern.open) {
                open_bit_[structure.operators[o]] = 1 << (pattern.bits - 1);
                any_open_ = true;
            }
            for (std::size_t b = 0; b < facts.size(); ++b) {
                const int f = facts[b];
                additions.push_back(
                    {task_.fact_id({structure.fact_variable[f], structure.fact_value[f]}), {o, 1 << b}});
            }
        }
    row_count_ = table_rows_ + static_cast<int>(direct_.size());
    features_.assign(static_cast<std::size_t>(row_count_) * width, 0.0f);
    for (const auto &[pattern, first_row] : tables) fill_table(pattern, first_row);
    for (std::size_t i = 0; i < direct_.size(); ++i) first_rows_[direct_[i]] = table_rows_ + static_cast<int>(i);
    rows_ = first_rows_;

    std::stable_sort(additions.begin(), additions.end(),
                     [](const auto &x, const auto &y) { return x.first < y.first; });
    addition_begin_.assign(task_.fact_count() + 1, 0);
    for (const auto &[fact, addition] : additions) {
        ++addition_begin_[fact + 1];
        additions_.push_back(addition);
    }
    for (int f = 0; f < task_.fact_count(); ++f) addition_begin_[f + 1] += addition_begin_[f];
}

void ASNetInputs::compute(int schema, const float *inputs, int row) {
    const int count = 2 * structure_.slot_count(schema) + 1;
    const Kernels::Linear layer{matrices_[schema].data(), biases_[schema].data(), 1, count, 0, width_, true};
    kernels_.linear(layer, inputs, nullptr, 0, 1, features_.data() + static_cast<std::size_t>(row) * width_);
}

void ASNetInputs::fill_table(const Pattern &pattern, int first_row) {
    const int slots = structure_.slot_count(pattern.schema);
    for (int bits = 0; bits < 1 << pattern.bits; ++bits) {
        const auto is_set = [&](int bit) { return (bits >> bit & 1) != 0; };
        for (int k = 0; k < slots; ++k) {
            const int bit = pattern.slot_bits[k];
            const bool missing = bit == ASNetStructure::MISSING;
            input_[k] = missing ? -1.0f : bit == TRUE || is_set(bit) ? 1.0f : 0.0f;
            input_[slots + k] = missing ? -1.0f : static_cast<float>(pattern.slot_goals[k]);
        }
        const bool applies = pattern.open
                                 ? is_set(pattern.bits - 1)
                                 : std::all_of(pattern.needs_true.begin(), pattern.needs_true.end(), is_set) &&
                                       std::none_of(pattern.needs_false.begin(), pattern.needs_false.end(), is_set);
        input_[2 * slots] = applies ? 1.0f : 0.0f;
        compute(pattern.schema, input_.data(), first_row + bits);
    }
}

void ASNetInputs::compute_direct(int i, const int *values) {
    const int op = direct_[i];
    const int slots = structure_.slot_count(direct_schema_[i]);
    for (int k = 0; k < slots; ++k) {
        const int f = structure_.related[related_begin_[op] + k];
        if (f == ASNetStructure::MISSING) {
            input_[k] = input_[slots + k] = -1.0f;
        } else {
            const int v = structure_.fact_variable[f];
            input_[k] = v < 0 || values[v] == structure_.fact_value[f] ? 1.0f : 0.0f;
            input_[slots + k] = static_cast<float>(structure_.fact_goal[f]);
        }
    }
    input_[2 * slots] = task_.applicable(structure_.operators[op], values) ? 1.0f : 0.0f;
    compute(direct_schema_[i], input_.data(), table_rows_ + i);
}

void ASNetInputs::set_state(const int *values, const std::vector<OperatorId> &applicable) {
    std::copy(first_rows_.begin(), first_rows_.end(), rows_.begin());
    for (int v = 0; v < task_.variable_count(); ++v) {
        const int fact = task_.fact_id({v, values[v]});
        for (int i = addition_begin_[fact]; i < addition_begin_[fact + 1]; ++i)
            rows_[additions_[i].op] += additions_[i].amount;
    }
    if (any_open_)
        for (OperatorId op : applicable) rows_[place_[op]] += open_bit_[op];
    for (std::size_t i = 0; i < direct_.size(); ++i) compute_direct(static_cast<int>(i), values);
}

}  // namespace misstep
