#include "safety/components.h"

#include <algorithm>
#include <limits>

#include "base/interrupt.h"

namespace misstep::safety {

namespace {
constexpr std::uint32_t DONE = std::numeric_limits<std::uint32_t>::max();
struct Frame {
    StateId state;
    std::uint64_t at;  // outcome to look at next
};
}  // namespace

// `next(state, at)` returns the next outcome from position `at` on and moves `at`; NO_STATE at the end.
template <class Next>
void ComponentSearch::search(StateId root, Next &&next, Components &result) {
    std::vector<Frame> frames;
    const auto enter = [&](StateId s) {
        found_[s] = low_[s] = ++clock_;
        stack_.push_back(s);
        frames.push_back({s, game_.first_outcome(s)});
    };
    enter(root);
    while (!frames.empty()) {
        let_interrupt();
        Frame &frame = frames.back();
        const StateId s = frame.state;
        const StateId t = next(s, frame.at);
        if (t != NO_STATE) {
            if (found_[t] == 0) enter(t);
            else if (found_[t] != DONE) low_[s] = std::min(low_[s], found_[t]);
            continue;
        }
        frames.pop_back();
        if (!frames.empty()) low_[frames.back().state] = std::min(low_[frames.back().state], low_[s]);
        if (low_[s] != found_[s]) continue;
        StateId member;
        do {
            member = stack_.back();
            stack_.pop_back();
            found_[member] = DONE;
            result.states.push_back(member);
        } while (member != s);
        result.offsets.push_back(result.states.size());
    }
}

Components ComponentSearch::all() {
    Components result;
    result.states.reserve(game_.size());
    for (StateId s = 0; s < game_.size(); ++s) {
        if (found_[s] != 0) continue;
        search(
            s,
            [&](StateId state, std::uint64_t &at) {
                return at < game_.last_outcome(state) ? game_.outcomes[at++] : NO_STATE;
            },
            result);
    }
    std::fill(found_.begin(), found_.end(), 0);
    clock_ = 0;
    return result;
}

Components ComponentSearch::within(std::span<const StateId> states,
                                   const std::function<bool(std::uint64_t edge)> &stays) {
    Components result;
    const auto next = [&](StateId state, std::uint64_t &at) {
        const std::uint64_t last_edge = game_.edges_of[game_.labels_of[state + 1]];
        while (at < game_.last_outcome(state)) {
            const auto begin = game_.outcomes_of.begin();
            const auto edge = static_cast<std::uint64_t>(
                std::upper_bound(begin + game_.edges_of[game_.labels_of[state]], begin + last_edge, at) - begin - 1);
            if (stays(edge)) return game_.outcomes[at++];
            at = game_.outcomes_of[edge + 1];
        }
        return NO_STATE;
    };
    for (StateId s : states)
        if (found_[s] == 0) search(s, next, result);
    for (StateId s : states) found_[s] = 0;
    clock_ = 0;
    return result;
}

std::vector<std::vector<StateId>> ComponentSearch::end_components(std::span<const StateId> states) {
    std::vector<std::vector<StateId>> result, work{{states.begin(), states.end()}};
    owner_.resize(game_.size(), 0);
    while (!work.empty()) {
        std::vector<StateId> own = std::move(work.back());
        work.pop_back();
        ++set_;
        for (StateId s : own) owner_[s] = set_;
        const auto stays = [&](std::uint64_t edge) {
            for (std::uint64_t o = game_.outcomes_of[edge]; o < game_.outcomes_of[edge + 1]; ++o)
                if (owner_[game_.outcomes[o]] != set_) return false;
            return true;
        };
        const auto leaves = [&](StateId s) {
            for (std::uint64_t e = game_.edges_of[game_.labels_of[s]]; e < game_.edges_of[game_.labels_of[s + 1]]; ++e)
                if (stays(e)) return false;
            owner_[s] = 0;
            return true;
        };
        const std::size_t before = own.size();
        while (std::erase_if(own, leaves) > 0) {
        }
        if (own.size() < 2) continue;
        const Components parts = within(own, stays);
        if (parts.count() == 1 && own.size() == before) {
            result.push_back(std::move(own));
            continue;
        }
        for (std::size_t c = 0; c < parts.count(); ++c)
            if (const std::span<const StateId> part = parts.of(c); part.size() > 1)
                work.emplace_back(part.begin(), part.end());
    }
    return result;
}

}  // namespace misstep::safety
