#include "fdr/match_tree.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/interrupt.h"

namespace misstep {

namespace {

class Builder {
   public:
    Builder(std::span<const int> domain_sizes, std::vector<std::vector<Fact>> assignments,
            std::vector<std::int32_t> &code, std::int32_t end)
        : domain_sizes_(domain_sizes),
          open_facts_(std::move(assignments)),
          mentions_(domain_sizes.size(), 0),
          code_(code),
          end_(end) {}

    // Writes the node of `ids` and everything below it; returns its position. open_facts_[id] are the facts of the
    // assignment that are not decided on the way to this node.
    std::int32_t build(const std::vector<int> &ids) {
        let_interrupt(HEAVY);
        std::vector<int> complete;
        std::vector<int> open;
        for (int id : ids) (open_facts_[id].empty() ? complete : open).push_back(id);
        const int variable = most_mentioned(open);
        const auto node = static_cast<std::int32_t>(code_.size());
        code_.push_back(static_cast<std::int32_t>(complete.size()));
        code_.insert(code_.end(), complete.begin(), complete.end());
        if (open.empty()) {
            code_.push_back(end_);
            return node;
        }

        std::map<int, std::vector<int>> by_value;
        std::vector<int> any;
        for (int id : open) {
            std::vector<Fact> &facts = open_facts_[id];
            const auto tested =
                std::find_if(facts.begin(), facts.end(), [&](const Fact &f) { return f.variable == variable; });
            if (tested == facts.end()) {
                any.push_back(id);
            } else {
                by_value[tested->value].push_back(id);
                facts.erase(tested);
            }
        }
        // A table over the whole domain is the fastest test, but wastes memory where few values have a child.
        const int domain = domain_sizes_[variable];
        const bool dense = by_value.size() > 3 && 8 * static_cast<int>(by_value.size()) >= domain;
        const std::size_t at = code_.size();
        code_.resize(at + (dense ? 2 + domain : 3 + 2 * by_value.size()), 0);
        code_[at] = dense ? variable : ~variable;
        if (!dense) code_[at + 2] = static_cast<std::int32_t>(by_value.size());
        std::size_t pair = at + 3;
        for (const auto &[value, children] : by_value) {
            const std::int32_t child = build(children);  // may move code_
            if (dense) {
                code_[at + 2 + value] = child;
            } else {
                code_[pair++] = value;
                code_[pair++] = child;
            }
        }
        if (!any.empty()) {
            const std::int32_t child = build(any);
            code_[at + 1] = child;
        }
        return node;
    }

   private:
    // The variable that most assignments mention leaves the fewest of them below each value.
    int most_mentioned(const std::vector<int> &ids) {
        int best = -1;
        for (int id : ids)
            for (const Fact &fact : open_facts_[id]) ++mentions_[fact.variable];
        for (int id : ids)
            for (const Fact &fact : open_facts_[id])
                if (best == -1 || mentions_[fact.variable] > mentions_[best] ||
                    (mentions_[fact.variable] == mentions_[best] && fact.variable < best))
                    best = fact.variable;
        for (int id : ids)
            for (const Fact &fact : open_facts_[id]) mentions_[fact.variable] = 0;
        return best;
    }

    std::span<const int> domain_sizes_;
    std::vector<std::vector<Fact>> open_facts_;
    std::vector<int> mentions_;
    std::vector<std::int32_t> &code_;
    std::int32_t end_;
};

}  // namespace

MatchTree::MatchTree(std::span<const int> domain_sizes, const std::vector<std::vector<Fact>> &assignments) {
    code_.push_back(0);
    std::vector<int> ids(assignments.size());
    std::iota(ids.begin(), ids.end(), 0);
    Builder(domain_sizes, assignments, code_, END).build(ids);
    code_.shrink_to_fit();
}

}  // namespace misstep
