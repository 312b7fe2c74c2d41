#include "asnets/asnet.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace misstep {

namespace {
constexpr int CHUNK = 32;  // facts that are pooled at a time: they fit in the nearest cache and make four full tiles
}  // namespace

ASNet::ASNet(ASNetStructure structure, const SuccessorGenerator &generator, int hidden, int layers,
             std::span<const float> numbers, const std::string &kernels, int max_table_bits)
    : structure_(std::move(structure)),
      generator_(generator),
      kernels_(kernels_named(kernels)),
      hidden_(hidden),
      layers_(layers) {
    structure_.check(generator.task());
    const ASNetWeights weights(structure_, hidden, layers, numbers);
    width_ = (hidden + Kernels::PADDING - 1) / Kernels::PADDING * Kernels::PADDING;
    relation_counts_ = structure_.relation_counts();
    place_.resize(structure_.operator_count());
    for (int o = 0; o < structure_.operator_count(); ++o) place_[structure_.operators[o]] = o;
    int related = 0;
    for (int a = 0; a < structure_.schema_count(); ++a)
        for (int o = structure_.schema_begin[a]; o < structure_.schema_begin[a + 1]; ++o) {
            schema_of_.push_back(a);
            related_begin_.push_back(related);
            related += structure_.slot_count(a);
        }
    inputs_ = std::make_unique<ASNetInputs>(structure_, generator, weights, kernels_, width_, max_table_bits);
    build_pools();
    build_projections();
    build_modules(weights);
    build_scratch();
}

void ASNet::build_pools() {
    const int facts = structure_.fact_count();
    int segments = 0;
    for (int p = 0; p < structure_.predicate_count; ++p)
        for (int f = structure_.predicate_begin[p]; f < structure_.predicate_begin[p + 1]; ++f) {
            pool_begin_.push_back(segments);
            segments += relation_counts_[p];
        }
    pool_begin_.push_back(segments);

    // The relations of a predicate are numbered by schema, then slot.
    std::vector<int> next_relation(structure_.predicate_count, 0);
    std::vector<std::vector<int>> members(segments);
    for (int a = 0; a < structure_.schema_count(); ++a)
        for (int k = 0; k < structure_.slot_count(a); ++k) {
            const int relation = next_relation[structure_.slots[a][k]]++;
            for (int o = structure_.schema_begin[a]; o < structure_.schema_begin[a + 1]; ++o) {
                const int f = structure_.related[related_begin_[o] + k];
                if (f != ASNetStructure::MISSING) members[pool_begin_[f] + relation].push_back(o);
            }
        }
    pool_offsets_.push_back(0);
    for (const std::vector<int> &segment : members) {
        pool_members_.insert(pool_members_.end(), segment.begin(), segment.end());
        pool_offsets_.push_back(static_cast<int>(pool_members_.size()));
    }
    all_facts_.resize(facts);
    for (int f = 0; f < facts; ++f) all_facts_[f] = f;
}

void ASNet::build_projections() {
    const int missing_row = structure_.fact_count();
    term_of_.resize(structure_.related.size());
    int terms = 0;
    for (int a = 0; a < structure_.schema_count(); ++a) {
        projections_.emplace_back();
        for (int k = 0; k < structure_.slot_count(a); ++k) {
            Projection projection{{}, terms};
            std::vector<int> term(missing_row + 1, -1);
            for (int o = structure_.schema_begin[a]; o < structure_.schema_begin[a + 1]; ++o) {
                const int at = related_begin_[o] + k;
                const int f = structure_.related[at] == ASNetStructure::MISSING ? missing_row : structure_.related[at];
                if (term[f] < 0) {
                    term[f] = terms++;
                    projection.facts.push_back(f);
                }
                term_of_[at] = term[f];
            }
            projections_.back().push_back(std::move(projection));
        }
    }
    terms_.resize(static_cast<std::size_t>(terms) * width_);
}

void ASNet::build_modules(const ASNetWeights &weights) {
    // Columns [first, first + inputs) of a stored matrix, input by input and padded.
    const auto block = [&](const ASNetWeights::Module &module, int first, int inputs) {
        Floats result(static_cast<std::size_t>(inputs) * width_, 0.0f);
        for (int in = 0; in < inputs; ++in)
            for (int out = 0; out < module.outputs; ++out)
                result[static_cast<std::size_t>(in) * width_ + out] =
                    module.matrix[static_cast<std::size_t>(out) * module.inputs + first + in];
        return result;
    };
    const auto padded = [&](std::span<const float> numbers) {
        Floats result(width_, 0.0f);
        std::copy(numbers.begin(), numbers.end(), result.begin());
        return result;
    };
    for (int layer = 0; layer < layers_; ++layer) {
        proposition_modules_.emplace_back();
        for (int p = 0; p < structure_.predicate_count; ++p) {
            const auto &module = weights.proposition(layer, p);
            proposition_modules_.back().push_back({block(module, 0, module.inputs), padded(module.bias)});
        }
    }
    for (int layer = 1; layer < layers_; ++layer) {
        hidden_modules_.emplace_back();
        for (int a = 0; a < structure_.schema_count(); ++a) {
            const auto &module = weights.action(layer, a);
            HiddenModule hidden;
            const int slots = structure_.slot_count(a);
            for (int k = 0; k < slots; ++k) hidden.slots.push_back(block(module, k * hidden_, hidden_));
            hidden.skip = block(module, slots * hidden_, hidden_);
            hidden.bias = padded(module.bias);
            hidden_modules_.back().push_back(std::move(hidden));
        }
    }
    for (int a = 0; a < structure_.schema_count(); ++a) {
        const auto &module = weights.action(layers_, a);
        OutputModule output{{}, module.bias[0]};
        for (int k = 0; k <= structure_.slot_count(a); ++k) {
            const Floats row = padded(module.matrix.subspan(static_cast<std::size_t>(k) * hidden_, hidden_));
            output.weights.insert(output.weights.end(), row.begin(), row.end());
        }
        output_modules_.push_back(std::move(output));
    }
}

void ASNet::build_scratch() {
    const std::size_t facts = structure_.fact_count();
    const std::size_t operators = structure_.operator_count();
    int most_relations = 0;
    for (int count : relation_counts_) most_relations = std::max(most_relations, count);
    pooled_.resize(static_cast<std::size_t>(CHUNK) * (most_relations + 1) * width_);
    for (Floats &features : facts_) {
        features.assign((facts + 1) * width_, 0.0f);
        std::fill(features.end() - width_, features.end(), -1.0f);
    }
    needed_.resize((facts + 1) * width_);
    needed_row_.resize(facts);
    marked_.assign(facts, 0);
    needed_facts_.reserve(facts);
    lanes_.resize(width_);
    if (layers_ == 1) return;

    operators_.resize(operators * width_);
    if (layers_ > 2) base_.resize(operators * width_);
    // A row of the inputs belongs to one schema, so its product with the skip weights of that schema can be stored as well.
    input_skip_.resize(static_cast<std::size_t>(inputs_->row_count()) * width_);
    for (int row = 0; row < inputs_->table_rows(); ++row) {
        const HiddenModule &module = hidden_modules_[0][inputs_->schema_of_row(row)];
        kernels_.linear(linear(module.skip, &module.bias, 1, false), inputs_->features(), &row, width_, 1,
                        input_skip_.data() + static_cast<std::size_t>(row) * width_);
    }
}

Kernels::Linear ASNet::linear(const Floats &matrix, const Floats *bias, int blocks, bool elu) const {
    return {matrix.data(), bias ? bias->data() : nullptr, blocks, hidden_, width_, width_, elu};
}

// Computes the features of the given facts of one predicate, one after the other, in `out`.
void ASNet::propositions(int layer, int predicate, std::span<const int> facts, const float *features, const int *rows,
                         float *out) {
    const PropositionModule &module = proposition_modules_[layer][predicate];
    const int relations = relation_counts_[predicate];
    const int blocks = relations + (layer > 0);
    const int stride = blocks * width_;
    const float *previous = facts_[(layer + 1) & 1].data();
    const Kernels::Linear dense = linear(module.matrix, &module.bias, blocks, true);
    for (std::size_t begin = 0; begin < facts.size(); begin += CHUNK) {
        const int count = static_cast<int>(std::min<std::size_t>(CHUNK, facts.size() - begin));
        for (int i = 0; i < count; ++i) {
            const std::size_t f = facts[begin + i];
            float *row = pooled_.data() + i * stride;
            kernels_.pool(features, rows, pool_offsets_.data() + pool_begin_[f], pool_members_.data(), relations,
                          width_, row);
            if (layer > 0) std::copy_n(previous + f * width_, width_, row + relations * width_);
        }
        kernels_.linear(dense, pooled_.data(), nullptr, stride, count, out + begin * width_);
    }
}

void ASNet::all_propositions(int layer, const float *features, const int *rows) {
    for (int p = 0; p < structure_.predicate_count; ++p) {
        const std::size_t begin = structure_.predicate_begin[p];
        const std::span<const int> facts(all_facts_.data() + begin, structure_.predicate_begin[p + 1] - begin);
        propositions(layer, p, facts, features, rows, facts_[layer & 1].data() + begin * width_);
    }
}

// Action layer `layer`, from the facts of the layer before it.
void ASNet::hidden_actions(int layer) {
    const float *facts = facts_[(layer - 1) & 1].data();
    for (int a = 0; a < structure_.schema_count(); ++a) {
        const int begin = structure_.schema_begin[a];
        const int count = structure_.schema_begin[a + 1] - begin;
        if (count == 0) continue;
        const HiddenModule &module = hidden_modules_[layer - 1][a];
        for (std::size_t k = 0; k < module.slots.size(); ++k) {
            const Projection &projection = projections_[a][k];
            kernels_.linear(linear(module.slots[k], nullptr, 1, false), facts, projection.facts.data(), width_,
                            static_cast<int>(projection.facts.size()),
                            terms_.data() + static_cast<std::size_t>(projection.first_term) * width_);
        }
        float *features = operators_.data() + static_cast<std::size_t>(begin) * width_;
        const float *base = input_skip_.data();
        const int *rows = inputs_->rows() + begin;
        if (layer > 1) {
            kernels_.linear(linear(module.skip, &module.bias, 1, false), features, nullptr, width_, count,
                            base_.data());
            base = base_.data();
            rows = nullptr;
        } else if (inputs_->table_rows() < inputs_->row_count()) {
            for (int o = begin; o < begin + count; ++o) {
                const int row = inputs_->rows()[o];
                if (row >= inputs_->table_rows())
                    kernels_.linear(linear(module.skip, &module.bias, 1, false), inputs_->features(), &row, width_, 1,
                                    input_skip_.data() + static_cast<std::size_t>(row) * width_);
            }
        }
        kernels_.combine(base, rows, terms_.data(), term_of_.data() + related_begin_[begin], structure_.slot_count(a),
                         count, width_, features);
    }
}

// Computes the last layer of facts, only for the facts that the candidates are related to.
void ASNet::needed_propositions(int layer, std::span<const OperatorId> candidates, const float *features,
                                const int *rows) {
    for (OperatorId op : candidates) {
        const int o = place_[op];
        for (int k = 0; k < structure_.slot_count(schema_of_[o]); ++k) {
            const int f = structure_.related[related_begin_[o] + k];
            if (f != ASNetStructure::MISSING) marked_[f] = 1;
        }
    }
    needed_facts_.clear();
    for (int p = 0; p < structure_.predicate_count; ++p) {
        const std::size_t first = needed_facts_.size();
        for (int f = structure_.predicate_begin[p]; f < structure_.predicate_begin[p + 1]; ++f) {
            if (!marked_[f]) continue;
            marked_[f] = 0;
            needed_row_[f] = static_cast<int>(needed_facts_.size());
            needed_facts_.push_back(f);
        }
        propositions(layer, p, std::span<const int>(needed_facts_).subspan(first), features, rows,
                     needed_.data() + first * width_);
    }
    std::fill_n(needed_.data() + needed_facts_.size() * width_, width_, -1.0f);
}

float ASNet::output(OperatorId op, const float *features, const int *rows) {
    const int o = place_[op];
    const int slots = structure_.slot_count(schema_of_[o]);
    const OutputModule &module = output_modules_[schema_of_[o]];
    std::fill(lanes_.begin(), lanes_.end(), 0.0f);
    for (int k = 0; k < slots; ++k) {
        const int f = structure_.related[related_begin_[o] + k];
        const std::size_t row = f == ASNetStructure::MISSING ? needed_facts_.size() : needed_row_[f];
        kernels_.accumulate(module.weights.data() + k * width_, needed_.data() + row * width_, width_, lanes_.data());
    }
    const std::size_t row = rows ? rows[o] : o;
    kernels_.accumulate(module.weights.data() + slots * width_, features + row * width_, width_, lanes_.data());
    float sum = module.bias;
    for (int lane = 0; lane < hidden_; ++lane) sum += lanes_[lane];
    return sum;
}

void ASNet::evaluate(const int *values, std::span<const OperatorId> candidates, float *numbers) {
    if (candidates.empty()) return;
    if (inputs_->needs_applicable() && candidates.data() != applicable_.data())
        generator_.applicable(values, applicable_);
    inputs_->set_state(values, applicable_);
    const float *features = inputs_->features();
    const int *rows = inputs_->rows();
    for (int layer = 0; layer + 1 < layers_; ++layer) {
        all_propositions(layer, features, rows);
        hidden_actions(layer + 1);
        features = operators_.data();
        rows = nullptr;
    }
    needed_propositions(layers_ - 1, candidates, features, rows);
    for (std::size_t i = 0; i < candidates.size(); ++i) numbers[i] = output(candidates[i], features, rows);
}

OperatorId ASNet::choose(const int *values, std::span<const OperatorId> candidates) {
    ++evaluations_;
    numbers_.resize(candidates.size());
    evaluate(values, candidates, numbers_.data());
    OperatorId best = NO_ACTION;
    float highest = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (!std::isfinite(numbers_[i])) return FAILED;
        if (best == NO_ACTION || numbers_[i] > highest || (numbers_[i] == highest && candidates[i] < best)) {
            best = candidates[i];
            highest = numbers_[i];
        }
    }
    return best;
}

}  // namespace misstep
