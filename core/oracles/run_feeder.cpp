#include "oracles/run_feeder.h"

namespace misstep {

StateId RunFeeder::store_id(StateId id) {
    policy_.values(id, values_.data());
    return store_.add(values_.data());
}

void RunFeeder::feed(StateId start, std::uint32_t max_steps) {
    followed_.resize(policy_.size(), 0);
    is_taken_in_.resize(policy_.size(), 0);
    values_.resize(policy_.task().variable_count());
    store_id(start);  // so that the store knows the start even if the run ends there
    StateId at = start;
    for (std::uint32_t left = max_steps; left > followed_[at]; --left) {
        const StateId successor = policy_.successor(at);
        if (successor == NO_STATE) return;  // the end of the run
        followed_[at] = left;
        if (!is_taken_in_[at]) {
            is_taken_in_[at] = 1;
            store_.add_transition(store_id(at), policy_.decision(at));
        }
        at = successor;
    }
}

}  // namespace misstep
