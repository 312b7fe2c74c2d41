#include "policygraph/run_feeder.h"

namespace misstep {

StateId RunFeeder::first_missing(StateId id) {
    while (next_[id] != id) {
        next_[id] = next_[next_[id]];
        id = next_[id];
    }
    return id;
}

StateId RunFeeder::plan_id(StateId id) {
    policy_.values(id, values_.data());
    return plans_.add(values_.data());
}

void RunFeeder::feed(StateId start) {
    for (auto id = static_cast<StateId>(next_.size()); id < policy_.size(); ++id) next_.push_back(id);
    is_closed_.resize(policy_.size(), 0);
    values_.resize(policy_.task().variable_count());
    plan_id(start);  // known from now on, even if the run ends here
    StateId at = first_missing(start);
    while (!is_closed_[at] && policy_.successor(at) != NO_STATE) {
        const StateId successor = policy_.successor(at);
        plans_.add_transition(plan_id(at), policy_.decision(at));
        const StateId missing = first_missing(successor);
        if (missing == at)
            is_closed_[at] = 1;
        else
            next_[at] = successor;
        at = missing;
    }
}

}  // namespace misstep
