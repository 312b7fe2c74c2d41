#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jani/edge_index.h"
#include "jani/expression.h"
#include "jani/layout.h"
#include "jani/program.h"

namespace misstep::jani {

using LabelId = std::int32_t;
using WhereId = std::uint32_t;  // a JSON path, for messages
inline constexpr LabelId SILENT = -1;

// What an assignment outside the bounds of its variable means: an error of the model, or that the edge is not enabled.
enum class OutOfBounds { error, disable };
// What an enabled silent edge means: the model is refused, the edge has a label like others, or it is a move of the
// environment, which may take it whatever label is chosen.
enum class Silent { refuse, as_action, step };

// A model as the front end describes it, with expressions that are not compiled yet.
struct AssignmentSource {
    SlotId slot;                  // the first cell, if there is an index
    std::int64_t length = 0;      // of the array; 0: a plain variable
    ExprId index = NO_EXPRESSION;  // known to be within the array
    ExprId value;
    std::int64_t level;           // assignments run level by level
    std::string where;
    // A non-deterministic assignment writes any of these values whose condition holds; `value` is not used then.
    bool selects = false;
    std::vector<std::pair<Word, ExprId>> choices{};
};
struct DestinationSource {
    ExprId probability;
    std::vector<std::pair<SlotId, Word>> moves;  // locations
    std::vector<AssignmentSource> assignments;
    std::string where;
};
struct EdgeSource {
    ExprId guard;  // with the location
    std::vector<DestinationSource> destinations;
    std::string where;
};

struct Assignment {
    SlotId slot;
    std::uint32_t length;
    Program index;
    Program value;
    std::int64_t level;
    bool checked;  // the value may be outside the bounds
    WhereId where;
    bool selects = false;
    std::vector<std::pair<Word, Program>> choices{};
};
struct Destination {
    Program probability;
    WhereId where;
    std::vector<std::pair<SlotId, Word>> moves;
    std::vector<Assignment> assignments;  // by level
    bool simple;         // one level and plain state variables: computed from the old values alone
    std::int64_t level;  // the only one, of a simple destination
    bool selects = false;  // some assignment is non-deterministic
};
struct Edge {
    Condition guard;
    std::vector<Destination> destinations;  // those that can have a positive probability
    bool certain;  // the probabilities are constant, so they have been checked
    WhereId where;
};

// The edges of one automaton with one action, with the index that finds those whose guard may hold.
struct Group {
    std::vector<Edge> edges;
    EdgeIndex index;
};

// A transient variable is set to `initial` before each step, and then to the value that the current locations define.
struct TransientSource {
    SlotId slot;
    Word initial;
};
struct TransientValueSource {
    std::optional<std::pair<SlotId, Word>> location;  // none: the automaton has one location only
    SlotId slot;
    ExprId value;
    std::string where;
};
struct TransientValue {
    std::optional<std::pair<SlotId, Word>> location;
    SlotId slot;
    Program value;
    WhereId where;
};

// A synchronisation vector: a group of edges for each automaton that takes part.
struct Vector {
    LabelId label;  // SILENT: none
    std::vector<std::uint32_t> groups;
};

// A compiled model. It is immutable once its task is complete, and engines share it.
class Model {
   public:
    Model(std::unique_ptr<Expressions> expressions, std::vector<std::string> labels,
          std::vector<std::vector<EdgeSource>> groups, std::vector<Vector> vectors,
          std::vector<TransientSource> transients, const std::vector<TransientValueSource> &transient_values,
          OutOfBounds out_of_bounds, Silent silent);
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    const Expressions &expressions() const { return *expressions_; }
    // State variables only; transient ones come after them in registers.
    const std::vector<Slot> &slots() const { return slots_; }
    const Layout &layout() const { return layout_; }
    const Programs &programs() const { return programs_; }
    const std::vector<std::string> &labels() const { return labels_; }
    const std::vector<Group> &groups() const { return groups_; }
    // Vectors by label. Silent vectors that are refused, or that are moves of the environment, have lists of their own.
    const std::vector<std::vector<Vector>> &vectors() const { return vectors_; }
    const std::vector<Vector> &refused() const { return refused_; }
    const std::vector<Vector> &environment() const { return environment_; }
    // The label of states where only the environment can move; SILENT if it never moves by itself.
    LabelId environment_label() const { return environment_label_; }
    const std::vector<TransientSource> &transients() const { return transients_; }
    const std::vector<TransientValue> &transient_values() const { return transient_values_; }
    OutOfBounds out_of_bounds() const { return out_of_bounds_; }
    const std::string &where(WhereId id) const { return places_[id]; }

    std::string state_text(const Word *values) const;
    // The first few variables, so that a message about a state stays short.
    std::string state_excerpt(const Word *values) const;
    // One line on why the values are not a state; nothing if they are one.
    std::optional<std::string> objection(const Word *values) const;

    // For the conditions of a task that is being constructed, which are not part of the model.
    Programs &programs_for_task() { return programs_; }
    WhereId place(std::string where);

   private:
    Edge compile(const EdgeSource &source);
    Destination compile(const DestinationSource &source);

    std::unique_ptr<Expressions> expressions_;
    std::vector<Slot> slots_;
    Layout layout_;
    Programs programs_;
    std::vector<std::string> labels_;
    std::vector<Group> groups_;
    std::vector<std::vector<Vector>> vectors_;
    std::vector<Vector> refused_;
    std::vector<Vector> environment_;
    LabelId environment_label_ = SILENT;
    std::vector<TransientSource> transients_;
    std::vector<TransientValue> transient_values_;
    OutOfBounds out_of_bounds_;
    std::vector<std::string> places_;
};

inline constexpr const char *PROBABILITY_HINT =
    "correct the probabilities of this edge; where they depend on open constants, --constant gives those values";
// The sum of the probabilities may differ from one only by rounding.
void check_probability_sum(double sum, const std::string &where);

}  // namespace misstep::jani
