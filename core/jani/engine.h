#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/registry.h"
#include "jani/initial.h"
#include "jani/task.h"

namespace misstep::jani {

// The applicable labels of a state in ascending order, and for the i-th of them the distinct outcomes at positions
// [offsets[i], offsets[i + 1]) of `outcomes`.
struct Expansion {
    std::span<const LabelId> labels;
    std::span<const std::uint32_t> offsets;  // one more than labels
    std::span<const StateId> outcomes;

    std::span<const StateId> of(std::size_t i) const {
        return outcomes.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    }
};

// The same with probabilities, edge by edge: the edges of the i-th label are at [edges_of[i], edges_of[i + 1]), the outcomes of
// an edge at [outcomes_of[e], outcomes_of[e + 1]). An outcome may be listed twice. Weights are as the model computes them: their
// sum may differ from one by rounding.
struct Weighted {
    std::vector<LabelId> labels;
    std::vector<std::uint32_t> edges_of, outcomes_of;
    std::vector<StateId> outcomes;
    std::vector<double> weights;
};

// Runs a task. States get dense ids, and everything that is computed for a state is kept under its id.
//
// The order of the tests is fixed: a state is unsafe, or else a goal, or else a dead end, or none of these. Unsafe states and goals
// are terminal for the task even if the model continues: they have no labels here. The functions with `raw` follow the model alone.
//
// A label's outcomes are those of all enabled edges with it, each once, in the order of the file. A destination of probability zero
// gives no outcome. Where the environment moves by itself (Silent::step), silent edges count as edges of every applicable label, and
// where no label is applicable they form the only one. Every function may throw a ModelError, after which the engine is still usable.
//
// An engine has scratch memory, so it serves one thread. Engines can share their task.
class Engine {
   public:
    // Expansions are kept until they take `cache_bytes`; further ones are computed each time.
    explicit Engine(std::shared_ptr<const Task> task, std::size_t cache_bytes = 0);

    const Task &task() const { return *task_; }
    const Model &model() const { return model_; }
    StateId size() const { return registry_.size(); }
    int label_count() const { return static_cast<int>(model_.labels().size()); }
    LabelId environment_label() const { return model_.environment_label(); }

    // Throws a ModelError if the values are not a state.
    StateId intern(const Word *values);
    StateId find(const Word *values) const;  // NO_STATE if it was never seen
    void values(StateId id, Word *result) const { model_.layout().unpack(registry_[id], result); }
    std::string text(StateId id) const;
    std::string excerpt(StateId id) const;  // the first few variables, for messages

    bool is_unsafe(StateId id) { return (known(id) & UNSAFE) != 0; }
    bool is_goal(StateId id) { return (known(id) & GOAL) != 0; }  // and not unsafe
    bool is_terminal(StateId id) { return (known(id) & (UNSAFE | GOAL)) != 0 || is_dead_end(id); }
    bool is_dead_end(StateId id);  // not unsafe, no goal, no label

    // The distance to unsafety: 0 exactly in unsafe states.
    double distance(StateId id);
    // The distance from the unsafety condition alone, also where the property names another condition for `distance`.
    double distance_to_unsafe(StateId id);

    // The results are valid until the next call of one of these three functions. An expansion that is kept stays valid until
    // `forget_expansions`.
    Expansion expand(StateId id);
    std::span<const LabelId> applicable(StateId id);
    std::span<const StateId> outcomes(StateId id, LabelId label);  // empty: the label is not applicable

    // The probabilities of the label's outcomes, in their order: the enabled edges are equally likely, their destinations have the
    // probabilities of the model, and the values of a non-deterministic assignment are equally likely. They are not kept, because
    // no decision about safety depends on them.
    std::span<const double> probabilities(StateId id, LabelId label);

    // All labels, or only one, with the outcomes and weights of each enabled edge. Empty in unsafe states and goals. `result` is
    // overwritten.
    void expand_weighted(StateId id, Weighted &result, LabelId only = SILENT);

    Expansion expand_raw(StateId id);
    std::span<const StateId> outcomes_raw(StateId id, LabelId label);
    bool is_kept(StateId id) const { return id < kept_.size() && kept_[id] != nullptr; }
    void forget_expansions();

    InitialStates &initial();
    StateId sample_initial(CounterRandom &random, std::uint64_t tries = InitialStates::REJECTION_TRIES);
    // See InitialStates::enumerate.
    std::optional<std::vector<StateId>> all_initial(std::uint64_t max_steps, const std::function<bool()> &go_on = {});

    std::size_t bytes() const;

   private:
    enum Flag : std::uint8_t { UNSAFE = 1, GOAL = 2, TESTED = 4, DEAD_END = 8, EXPANDED = 16 };

    std::uint8_t known(StateId id) {
        if (id < flags_.size() && (flags_[id] & TESTED) != 0) return flags_[id];
        return test(id);
    }
    std::uint8_t test(StateId id);
    bool holds(const Task::Test &test, StateId id);
    void load(StateId id);  // all values, and the transient variables, into registers
    template <class Work>
    void guarded(StateId id, Work &&work);  // turns a Fault into a ModelError

    void expand_label(LabelId label);
    bool own_label(LabelId label);
    bool enabled(const Vector &vector);
    bool enabled(const Edge &edge);
    void refuse_silent();
    void fire(const Vector &vector);
    void fire_edge(const Edge &edge);
    void fire_together();
    bool vanishes(const Program &program);
    void begin_level();
    void note_write(SlotId slot);
    void possible(const Edge &edge, std::vector<const Destination *> &result);
    bool add_successor(std::span<const Destination *const> parts);
    bool add_selected(std::span<const Destination *const> parts);
    void count_combination();
    bool select(std::span<const Assignment *const> rest, double share);
    std::vector<Word> selectable(const Assignment &assignment);
    bool simple_successor(std::span<const Destination *const> parts);
    bool general_successor(std::span<const Destination *const> parts);
    bool assignable(const Assignment &assignment, SlotId slot, Word &value);
    std::size_t position(StateId outcome);
    void note_position(std::size_t at);
    void add_outcome();
    void roll_back(std::size_t size);
    void end_edge() {
        if (splitting_) edge_ends_.push_back(static_cast<std::uint32_t>(outcomes_.size()));
    }
    Expansion keep(StateId id);

    std::shared_ptr<const Task> task_;
    const Model &model_;
    StateRegistry registry_;
    std::vector<Word> registers_;
    std::vector<std::uint8_t> flags_;
    std::vector<double> distance_scratch_;

    // The state that is being expanded.
    StateId loaded_ = NO_STATE;
    const std::uint64_t *source_ = nullptr;
    WhereId where_ = 0;
    std::vector<LabelId> labels_;
    std::vector<std::uint32_t> offsets_;
    std::vector<StateId> outcomes_;
    std::size_t label_begin_ = 0;
    bool stamped_ = false;  // the current label has so many outcomes that duplicates are found by stamps
    std::uint32_t stamp_ = 0;
    std::size_t combinations_ = 0;  // of the current label
    std::size_t tried_ = 0;  // values of non-deterministic assignments, for the current label
    std::vector<std::uint32_t> stamps_, positions_;
    std::vector<std::uint64_t> packed_;
    std::vector<Word> saved_;
    std::vector<std::vector<const Edge *>> choices_;
    std::vector<std::vector<const Destination *>> possible_;
    std::vector<const Destination *> parts_;
    std::vector<std::pair<SlotId, Word>> writes_;
    // The slots that the assignments of one index have written have its number, `level_`.
    std::vector<std::uint32_t> written_;
    std::uint32_t level_ = 0;

    // Successors by non-deterministic assignments, packed, and the probability of each.
    std::vector<std::uint64_t> selections_;
    std::vector<double> shares_;

    // Only used while probabilities are computed: those of the outcomes, of the current destinations, and what the current edge has
    // added to, as it was before.
    bool weighing_ = false;
    double weight_ = 0;
    std::vector<double> weights_;
    std::vector<std::pair<std::size_t, double>> weights_before_;
    bool splitting_ = false;  // edges are kept apart
    std::vector<std::uint32_t> edge_ends_;

    // Kept expansions lie in blocks that never move: counts, labels, offsets, outcomes.
    std::size_t cache_bytes_;
    std::size_t cache_used_ = 0;
    std::vector<std::unique_ptr<std::uint32_t[]>> blocks_;
    std::size_t block_size_ = 0;
    std::size_t block_used_ = 0;
    std::vector<const std::uint32_t *> kept_;

    std::unique_ptr<InitialStates> initial_;
};

}  // namespace misstep::jani
