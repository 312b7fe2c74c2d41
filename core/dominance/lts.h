#pragma once

#include <span>
#include <vector>

#include "dominance/factor.h"

namespace misstep::dominance {

// A factor in the form that the simulation needs: labels with the same transitions form a group, and the transitions are kept
// once for each group, in the three orders in which they are read.
class Lts {
   public:
    explicit Lts(const Factor &factor);

    struct Step {
        int group;
        int to;
    };
    // The sources of a group's transitions into one state.
    struct Arrival {
        int group;
        int first;  // in sources()
        int last;
    };

    int size() const { return size_; }
    int groups() const { return static_cast<int>(group_first_.size()) - 1; }
    int transitions() const { return static_cast<int>(by_group_.size()); }
    bool goal(int state) const { return goal_[state] != 0; }
    Cost h(int state) const { return h_[state]; }

    // The relevant labels, in increasing order, and their groups.
    const std::vector<int> &labels() const { return labels_; }
    const std::vector<int> &group_of() const { return group_of_; }
    // Whether each state has a loop with this group.
    bool loops_everywhere(int group) const { return loops_everywhere_[group] != 0; }

    std::span<const Transition> group(int g) const {
        return {by_group_.data() + group_first_[g], by_group_.data() + group_first_[g + 1]};
    }
    std::span<const Step> out(int state) const {
        return {out_.data() + out_first_[state], out_.data() + out_first_[state + 1]};
    }
    std::span<const Arrival> in(int state) const {
        return {in_.data() + in_first_[state], in_.data() + in_first_[state + 1]};
    }
    std::span<const int> sources(const Arrival &a) const {
        return {sources_.data() + a.first, sources_.data() + a.last};
    }

   private:
    int size_;
    std::vector<char> goal_;
    std::vector<Cost> h_;
    std::vector<int> labels_;
    std::vector<int> group_of_;
    std::vector<char> loops_everywhere_;
    std::vector<int> group_first_;
    std::vector<Transition> by_group_;
    std::vector<int> out_first_;
    std::vector<Step> out_;
    std::vector<int> in_first_;
    std::vector<Arrival> in_;
    std::vector<int> sources_;
};

}  // namespace misstep::dominance
