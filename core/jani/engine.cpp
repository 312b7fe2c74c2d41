#include "jani/engine.h"

#include <algorithm>
#include <numeric>

#include "jani/operators.h"

namespace misstep::jani {

namespace {
constexpr std::size_t BLOCK_WORDS = 1 << 16;
}

Engine::Engine(std::shared_ptr<const Task> task, std::size_t cache_bytes)
    : task_(std::move(task)),
      model_(*task_->model),
      registry_(model_.layout().words()),
      registers_(model_.programs().registers()),
      packed_(model_.layout().words()),
      cache_bytes_(cache_bytes) {}

StateId Engine::intern(const Word *values) {
    if (const auto objection = model_.objection(values)) throw ModelError(*objection, "", "a state of the model");
    model_.layout().pack(values, packed_.data());
    return registry_.insert(packed_.data()).first;
}

StateId Engine::find(const Word *values) const {
    if (model_.objection(values)) return NO_STATE;
    std::vector<std::uint64_t> packed(model_.layout().words());
    model_.layout().pack(values, packed.data());
    return registry_.find(packed.data());
}

std::string Engine::text(StateId id) const {
    std::vector<Word> result(model_.slots().size());
    values(id, result.data());
    return model_.state_text(result.data());
}

std::string Engine::excerpt(StateId id) const {
    std::vector<Word> result(model_.slots().size());
    values(id, result.data());
    return model_.state_excerpt(result.data());
}

template <class Work>
void Engine::guarded(StateId id, Work &&work) {
    try {
        work();
    } catch (const Fault &fault) {
        loaded_ = NO_STATE;
        throw ModelError(std::string(fault.what) + ", in the state " + excerpt(id), model_.where(where_));
    } catch (ModelError &error) {
        loaded_ = NO_STATE;
        throw ModelError(std::string(error.what()) + ", in the state " + excerpt(id), error.where, error.expected,
                         error.hint, error.unsupported);
    }
}

void Engine::load(StateId id) {
    source_ = registry_[id];
    if (loaded_ == id) return;
    model_.layout().unpack(source_, registers_.data());
    loaded_ = id;
    for (const TransientSource &transient : model_.transients()) registers_[transient.slot] = transient.initial;
    for (const TransientValue &value : model_.transient_values()) {
        if (value.location && registers_[value.location->first] != value.location->second) continue;
        where_ = value.where;
        Word word = model_.programs().run(value.value, registers_.data());
        const Slot &slot = model_.expressions().slots()[value.slot];
        if (slot.type == Type::real) word = stored_real(as_real(word));
        if (!slot.contains(word))
            throw ModelError(slot.name + " = " + jani::text(slot.type, word) + " is outside its bounds",
                             model_.where(where_), "a value within bounds");
        registers_[value.slot] = word;
    }
}

bool Engine::holds(const Task::Test &test, StateId id) {
    where_ = test.where;
    if (loaded_ != id) {
        loaded_ = NO_STATE;  // only the slots that the test reads are loaded
        const std::uint64_t *state = registry_[id];
        for (SlotId slot : test.support) registers_[slot] = model_.layout().get(state, slot);
    }
    return model_.programs().holds(test.condition, registers_.data());
}

std::uint8_t Engine::test(StateId id) {
    if (id >= flags_.size()) flags_.resize(std::max<std::size_t>(registry_.size(), flags_.size() * 3 / 2), 0);
    guarded(id, [&] {
        std::uint8_t flags = TESTED;
        if (holds(task_->unsafe, id)) flags |= UNSAFE;
        else if (holds(task_->goal, id)) flags |= GOAL;
        flags_[id] |= flags;
    });
    return flags_[id];
}

bool Engine::is_dead_end(StateId id) {
    if ((known(id) & (UNSAFE | GOAL)) != 0) return false;
    if ((flags_[id] & EXPANDED) == 0) applicable(id);
    return (flags_[id] & DEAD_END) != 0;
}

double Engine::distance_to_unsafe(StateId id) {
    if (!task_->plain_distance) return distance(id);
    if (loaded_ != id) {
        loaded_ = NO_STATE;
        const std::uint64_t *state = registry_[id];
        for (SlotId slot : task_->unsafe.support) registers_[slot] = model_.layout().get(state, slot);
    }
    return (*task_->plain_distance)(model_.programs(), registers_.data(), distance_scratch_);
}

double Engine::distance(StateId id) {
    if (loaded_ != id) {
        loaded_ = NO_STATE;
        const std::uint64_t *state = registry_[id];
        for (SlotId slot : task_->distance_support) registers_[slot] = model_.layout().get(state, slot);
    }
    return task_->distance(model_.programs(), registers_.data(), distance_scratch_);
}

void Engine::refuse_silent() {
    for (const Vector &vector : model_.refused())
        if (enabled(vector)) {
            throw ModelError(
                "a silent edge is enabled", model_.where(where_), "labelled edges only",
                "--silent step lets the environment take them, --silent as-action offers them to the policy "
                "as a label of their own (in Python: silent=\"step\" or \"as_action\")",
                true);
        }
}

Expansion Engine::expand_raw(StateId id) {
    labels_.clear();
    offsets_.assign(1, 0);
    outcomes_.clear();
    guarded(id, [&] {
        load(id);
        refuse_silent();
        for (LabelId label = 0; label < label_count(); ++label) {
            // The environment's label is the last one, so it is known by now whether another label applies.
            if (label == environment_label() && !labels_.empty()) break;
            expand_label(label);
            if (outcomes_.size() == label_begin_) continue;
            labels_.push_back(label);
            offsets_.push_back(static_cast<std::uint32_t>(outcomes_.size()));
        }
    });
    return {labels_, offsets_, outcomes_};
}

namespace {
Expansion view(const std::uint32_t *stored) {
    const std::uint32_t labels = stored[0], outcomes = stored[1];
    const std::uint32_t *at = stored + 2;
    return {
        {reinterpret_cast<const LabelId *>(at), labels}, {at + labels, labels + 1}, {at + 2 * labels + 1, outcomes}};
}
}  // namespace

Expansion Engine::expand(StateId id) {
    if (is_kept(id)) return view(kept_[id]);
    if ((known(id) & (UNSAFE | GOAL)) != 0) {
        labels_.clear();
        offsets_.assign(1, 0);
        outcomes_.clear();
    } else {
        expand_raw(id);
        flags_[id] |= labels_.empty() ? EXPANDED | DEAD_END : EXPANDED;
    }
    return keep(id);
}

std::span<const LabelId> Engine::applicable(StateId id) {
    if (is_kept(id) || model_.out_of_bounds() == OutOfBounds::disable || (known(id) & (UNSAFE | GOAL)) != 0)
        return expand(id).labels;
    labels_.clear();
    guarded(id, [&] {
        load(id);
        refuse_silent();
        for (LabelId label = 0; label < label_count(); ++label)
            for (const Vector &vector : model_.vectors()[label])
                if (enabled(vector)) {
                    labels_.push_back(label);
                    break;
                }
        const auto moves = [&](const Vector &vector) { return enabled(vector); };
        if (labels_.empty() && std::any_of(model_.environment().begin(), model_.environment().end(), moves))
            labels_.push_back(environment_label());
    });
    flags_[id] |= labels_.empty() ? EXPANDED | DEAD_END : EXPANDED;
    return labels_;
}

std::span<const StateId> Engine::outcomes(StateId id, LabelId label) {
    if (is_kept(id)) {
        const Expansion expansion = view(kept_[id]);
        const auto found = std::lower_bound(expansion.labels.begin(), expansion.labels.end(), label);
        if (found == expansion.labels.end() || *found != label) return {};
        return expansion.of(found - expansion.labels.begin());
    }
    if ((known(id) & (UNSAFE | GOAL)) != 0) return {};
    return outcomes_raw(id, label);
}

std::span<const StateId> Engine::outcomes_raw(StateId id, LabelId label) {
    outcomes_.clear();
    guarded(id, [&] {
        load(id);
        refuse_silent();
        if (label == environment_label())
            for (LabelId other = 0; other < label; ++other)
                if (own_label(other)) return;
        expand_label(label);
    });
    return outcomes_;
}

std::span<const double> Engine::probabilities(StateId id, LabelId label) {
    weights_.clear();
    if ((known(id) & (UNSAFE | GOAL)) != 0) return {};
    weighing_ = true;
    try {
        outcomes_raw(id, label);
    } catch (...) {
        weighing_ = false;
        throw;
    }
    weighing_ = false;
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);  // the number of edges, up to rounding
    for (double &weight : weights_) weight /= sum;
    return weights_;
}

void Engine::expand_weighted(StateId id, Weighted &result, LabelId only) {
    result.labels.clear();
    result.edges_of.assign(1, 0);
    outcomes_.clear();
    weights_.clear();
    edge_ends_.assign(1, 0);
    if ((known(id) & (UNSAFE | GOAL)) == 0) {
        std::vector<LabelId> wanted{only};
        if (only == SILENT) {
            const std::span<const LabelId> all = applicable(id);
            wanted.assign(all.begin(), all.end());
            outcomes_.clear();
        }
        weighing_ = splitting_ = true;
        try {
            guarded(id, [&] {
                load(id);
                refuse_silent();
                for (LabelId label : wanted) {
                    const std::size_t before = edge_ends_.size();
                    expand_label(label);
                    if (edge_ends_.size() == before) continue;
                    result.labels.push_back(label);
                    result.edges_of.push_back(static_cast<std::uint32_t>(edge_ends_.size() - 1));
                }
            });
        } catch (...) {
            weighing_ = splitting_ = false;
            throw;
        }
        weighing_ = splitting_ = false;
    }
    result.outcomes_of = edge_ends_;
    result.outcomes = outcomes_;
    result.weights = weights_;
}

Expansion Engine::keep(StateId id) {
    const std::size_t words = 3 + 2 * labels_.size() + outcomes_.size();
    const std::size_t room =
        block_used_ + words <= block_size_ ? 0 : std::max(words, BLOCK_WORDS) * sizeof(std::uint32_t);
    if (cache_used_ + room + (id >= kept_.size() ? sizeof(kept_[0]) * registry_.size() : 0) > cache_bytes_)
        return {labels_, offsets_, outcomes_};
    if (room > 0) {
        block_size_ = room / sizeof(std::uint32_t);
        block_used_ = 0;
        blocks_.push_back(std::make_unique_for_overwrite<std::uint32_t[]>(block_size_));
        cache_used_ += room;
    }
    std::uint32_t *at = blocks_.back().get() + block_used_;
    block_used_ += words;
    if (id >= kept_.size()) kept_.resize(std::max<std::size_t>(registry_.size(), kept_.size() * 3 / 2), nullptr);
    kept_[id] = at;
    *at++ = static_cast<std::uint32_t>(labels_.size());
    *at++ = static_cast<std::uint32_t>(outcomes_.size());
    at = std::copy(labels_.begin(), labels_.end(), at);
    at = std::copy(offsets_.begin(), offsets_.end(), at);
    std::copy(outcomes_.begin(), outcomes_.end(), at);
    return view(kept_[id]);
}

void Engine::forget_expansions() {
    kept_.clear();
    blocks_.clear();
    block_size_ = block_used_ = cache_used_ = 0;
}

InitialStates &Engine::initial() {
    if (!initial_) initial_ = std::make_unique<InitialStates>(task_);
    return *initial_;
}

StateId Engine::sample_initial(CounterRandom &random, std::uint64_t tries) {
    std::vector<Word> values(model_.slots().size());
    initial().sample(random, values.data(), tries);
    return intern(values.data());
}

std::optional<std::vector<StateId>> Engine::all_initial(std::uint64_t max_steps, const std::function<bool()> &go_on) {
    const auto packed = initial().enumerate(max_steps, go_on);
    if (!packed) return std::nullopt;
    std::vector<StateId> result;
    for (std::size_t i = 0; i < packed->size(); i += packed_.size())
        result.push_back(registry_.insert(packed->data() + i).first);
    return result;
}

std::size_t Engine::bytes() const {
    return registry_.bytes() + flags_.capacity() + cache_used_ + kept_.capacity() * sizeof(kept_[0]) +
           (stamps_.capacity() + positions_.capacity()) * sizeof(stamps_[0]);
}

}  // namespace misstep::jani
