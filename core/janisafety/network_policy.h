#pragma once

#include <map>

#include "jani/engine.h"
#include "nets/network.h"
#include "safety/stamps.h"
#include "safety/transitions.h"

namespace misstep::safety {

// A network over the variables of a JANI task: its inputs are some variables of the state, its outputs are values of some labels.
//
// The network need not read every variable and need not have an output for every label. The policy takes the label with the highest
// value, and the first output among equals: among the applicable labels (with `filter`), or among all, so that its label may not
// apply.
class NetworkPolicy : public LabelPolicy {
   public:
    // `columns`: the variable of each input. `constants`: fixed numbers for some inputs, by the position of the input; the entry of
    // `columns` is then ignored. `labels`: the label of each output, each at most once. Throws std::invalid_argument if these do not
    // fit the network or the task.
    NetworkPolicy(std::shared_ptr<const jani::Engine> engine, std::shared_ptr<Network> network,
                  std::vector<std::uint32_t> columns, std::vector<LabelId> labels, bool filter,
                  std::map<std::uint32_t, double> constants = {});

    LabelId choose(StateId id, std::span<const LabelId> applicable) override;
    bool has_values() const override { return true; }
    void values(StateId id, std::span<const LabelId> labels, std::span<double> result) override;
    void prepare(std::span<const StateId> ids) override;

   private:
    static constexpr std::uint32_t NO_ROW = ~0U;
    static constexpr std::size_t MAX_BATCH = 4096;  // rows at once; larger batches would only take more memory

    void read(StateId id, double *row);
    // All outputs for the state: those of the batch, or computed now.
    const double *outputs(StateId id);
    void check(StateId id, const double *outputs) const;

    std::shared_ptr<const jani::Engine> engine_;
    std::shared_ptr<Network> network_;
    std::vector<std::uint32_t> columns_;
    std::vector<LabelId> labels_;          // by output
    std::vector<std::int32_t> output_of_;  // by label; -1: none
    bool filter_;
    std::map<std::uint32_t, double> constants_;  // by input

    std::vector<jani::Word> values_;
    std::vector<double> inputs_;
    std::vector<double> single_;  // outputs of the state that was evaluated last, alone
    StateId single_state_ = NO_STATE;
    std::vector<StateId> batch_;
    std::vector<double> batch_outputs_;
    PerState<std::uint32_t> rows_{NO_ROW};  // of the states of the batch
};

}  // namespace misstep::safety
