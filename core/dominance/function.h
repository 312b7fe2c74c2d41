#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dominance/simulation.h"

namespace misstep::dominance {

// D(s, t) of whole states: the sum over the factors of a factoring, and the largest sum if there are several
// factorings. -infinity if a part of either state was pruned. For an unsolvable task it is always -infinity.
class Function {
   public:
    Function(std::vector<int> domain_sizes, std::vector<Simulation> factorings)
        : domain_sizes_(std::move(domain_sizes)), factorings_(std::move(factorings)) {}

    const std::vector<int> &domain_sizes() const { return domain_sizes_; }
    const std::vector<Simulation> &factorings() const { return factorings_; }

    Cost value(const int *dominated, const int *dominating) const;
    Cost value(int factoring, const int *dominated, const int *dominating) const;
    // All pairs: result[i * dominating.size() + j].
    std::vector<Cost> matrix(const std::vector<const int *> &dominated,
                             const std::vector<const int *> &dominating) const;

    struct Part {
        const std::vector<int> *variables;
        int dominated;
        int dominating;
        Cost value;
    };
    // The parts of the largest sum, from the first factoring that gives it; empty for -infinity.
    std::vector<Part> by_factor(const int *dominated, const int *dominating) const;

    // The abstract states of a factoring's factors. False: some part was pruned.
    bool abstract(int factoring, const int *values, int *ids) const;

    std::size_t bytes() const;  // of the tables
    std::string write() const;
    static std::optional<Function> read(std::string_view in, std::vector<int> domain_sizes);

   private:
    std::vector<int> domain_sizes_;
    std::vector<Simulation> factorings_;
};

}  // namespace misstep::dominance
