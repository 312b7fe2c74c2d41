#include "janisafety/network_policy.h"

#include <cmath>
#include <limits>

namespace misstep::safety {

NetworkPolicy::NetworkPolicy(std::shared_ptr<const jani::Engine> engine, std::shared_ptr<Network> network,
                             std::vector<std::uint32_t> columns, std::vector<LabelId> labels, bool filter,
                             std::map<std::uint32_t, double> constants)
    : engine_(std::move(engine)),
      network_(std::move(network)),
      columns_(std::move(columns)),
      labels_(std::move(labels)),
      output_of_(static_cast<std::size_t>(engine_->label_count()), -1),
      filter_(filter),
      constants_(std::move(constants)),
      values_(engine_->model().slots().size()),
      inputs_(columns_.size()),
      single_(labels_.size()) {
    if (static_cast<int>(columns_.size()) != network_->inputs() ||
        static_cast<int>(labels_.size()) != network_->outputs() || labels_.empty())
        throw std::invalid_argument("the network has another number of inputs or outputs");
    for (const auto &[input, value] : constants_) {
        if (input >= columns_.size()) throw std::invalid_argument("a constant for an input that does not exist");
        if (!std::isfinite(value)) throw std::invalid_argument("a constant is not finite");
        columns_[input] = 0;
    }
    for (std::uint32_t column : columns_)
        if (column >= values_.size()) throw std::invalid_argument("an input is no variable of the task");
    for (std::size_t i = 0; i < labels_.size(); ++i) {
        if (labels_[i] < 0 || labels_[i] >= engine_->label_count() ||
            output_of_[static_cast<std::size_t>(labels_[i])] >= 0)
            throw std::invalid_argument("an output is no label of the task, or the label of another output");
        output_of_[static_cast<std::size_t>(labels_[i])] = static_cast<std::int32_t>(i);
    }
}

void NetworkPolicy::read(StateId id, double *row) {
    engine_->values(id, values_.data());
    const std::vector<jani::Slot> &slots = engine_->model().slots();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const jani::Word value = values_[columns_[i]];
        row[i] = slots[columns_[i]].type == jani::Type::real ? jani::as_real(value) : static_cast<double>(value);
    }
    for (const auto &[input, value] : constants_) row[input] = value;
}

const double *NetworkPolicy::outputs(StateId id) {
    if (const std::uint32_t row = rows_[id]; row != NO_ROW) return batch_outputs_.data() + row * labels_.size();
    if (id != single_state_) {
        single_state_ = NO_STATE;  // the evaluation below may throw
        read(id, inputs_.data());
        network_->evaluate(inputs_.data(), 1, single_.data());
        single_state_ = id;
    }
    return single_.data();
}

// Finite weights can still be so large that sums overflow.
void NetworkPolicy::check(StateId id, const double *outputs) const {
    for (std::size_t i = 0; i < labels_.size(); ++i)
        if (!std::isfinite(outputs[i]))
            throw PolicyError("the network's output for " +
                              engine_->model().labels()[static_cast<std::size_t>(labels_[i])] + " is not finite in " +
                              engine_->text(id));
}

LabelId NetworkPolicy::choose(StateId id, std::span<const LabelId> applicable) {
    const double *numbers = outputs(id);
    check(id, numbers);
    std::int32_t best = -1;
    const auto offer = [&](std::int32_t output) {
        if (output < 0) return;
        if (best < 0 || numbers[output] > numbers[best] || (numbers[output] == numbers[best] && output < best))
            best = output;
    };
    if (filter_)
        for (LabelId label : applicable) offer(output_of_[static_cast<std::size_t>(label)]);
    else
        for (std::size_t i = 0; i < labels_.size(); ++i) offer(static_cast<std::int32_t>(i));
    return best < 0 ? NO_LABEL : labels_[static_cast<std::size_t>(best)];
}

void NetworkPolicy::values(StateId id, std::span<const LabelId> labels, std::span<double> result) {
    const double *numbers = outputs(id);
    check(id, numbers);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::int32_t output = output_of_[static_cast<std::size_t>(labels[i])];
        result[i] = output < 0 ? -std::numeric_limits<double>::infinity() : numbers[output];
    }
}

void NetworkPolicy::prepare(std::span<const StateId> ids) {
    for (StateId id : batch_) rows_.at(id) = NO_ROW;
    batch_.clear();
    if (ids.size() < 2) return;
    const std::span<const StateId> taken = ids.first(std::min(ids.size(), MAX_BATCH));
    inputs_.resize(std::max(inputs_.size(), taken.size() * columns_.size()));
    for (std::size_t i = 0; i < taken.size(); ++i) read(taken[i], inputs_.data() + i * columns_.size());
    batch_outputs_.resize(std::max(batch_outputs_.size(), taken.size() * labels_.size()));
    network_->evaluate(inputs_.data(), static_cast<int>(taken.size()), batch_outputs_.data());
    batch_.assign(taken.begin(), taken.end());
    for (std::size_t i = 0; i < taken.size(); ++i) rows_.at(taken[i]) = static_cast<std::uint32_t>(i);
}

}  // namespace misstep::safety
