#include "jani/initial.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "jani/operators.h"

namespace misstep::jani {

namespace {

constexpr std::uint64_t MAX_LISTED = 1 << 20;        // values of a slot that are tried one by one
constexpr std::uint64_t MAX_SUMS = 1 << 22;          // entries of the counting tables
constexpr int BOUND_ROUNDS = 3;
// A domain that is wider than this has a bound that the model does not give.
constexpr std::uint64_t ENDLESS = std::uint64_t{1} << 62;
constexpr double ENDLESS_REAL = 1e300;

[[noreturn]] void no_state(const Task &task) {
    throw ModelError("no state satisfies the start condition", task.start_where, "at least one start state");
}

}  // namespace

std::uint64_t InitialStates::Domain::size() const {
    if (type == Type::real) return real_low == real_high && !rounded ? 1 : 0;
    return listed ? values.size() : static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
}

InitialStates::InitialStates(std::shared_ptr<const Task> task, const Steps &steps)
    : task_(std::move(task)),
      model_(*task_->model),
      expressions_(model_.expressions()),
      width_(model_.slots().size()),
      words_(static_cast<std::size_t>(model_.layout().words())),
      registers_(model_.programs().registers()) {
    if (const auto *list = std::get_if<std::vector<std::vector<Word>>>(&task_->start)) {
        std::vector<std::uint64_t> states;
        for (const std::vector<Word> &state : *list) keep(state.data(), states);
        states_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(states));
        empty_ = list->empty();
        return;
    }
    if (adopt()) return;
    for (const Slot &slot : model_.slots()) {
        Domain domain{slot.type};
        domain.low = slot.range.low;
        domain.high = slot.range.high;
        domain.real_low = slot.range.real_low;
        domain.real_high = slot.range.real_high;
        domains_.push_back(std::move(domain));
    }
    shrink_domains();
    for (SlotId slot = 0; slot < width_ && !empty_; ++slot) {
        const Domain &domain = domains_[slot];
        const bool endless =
            domain.type == Type::real
                ? !(domain.real_high - domain.real_low < ENDLESS_REAL)
                : static_cast<std::uint64_t>(domain.high) - static_cast<std::uint64_t>(domain.low) >= ENDLESS;
        if (endless && !domain.listed)
            throw ModelError(
                "the variable " + model_.slots()[slot].name + " has no bounds, and nothing fixes its initial value",
                task_->start_where, "an initial value, bounds, or a start condition that bounds it");
    }
    collect_linear();
    method_ = Method::enumerated;
    if (empty_) return;
    if (!infinite())
        if (auto found = search(steps.enumeration, {})) {
            publish(std::move(*found));
            return;
        }
    // The longest equation whose solutions can be counted is used.
    std::stable_sort(linear_.begin(), linear_.end(), [](const LinearConjunct &a, const LinearConjunct &b) {
        return a.form.terms.size() > b.form.terms.size();
    });
    for (const LinearConjunct &conjunct : linear_)
        if (conjunct.op == Op::equal && prepare_counting(conjunct)) break;
    method_ = rest_.size() == (equation_ ? 1 : 0) ? Method::counted : Method::rejection;
    if (empty_ || method_ == Method::counted || !is_hopeless(steps.proposals)) return;
    method_ = Method::searched;
    if (infinite() || free_states() > steps.enumeration) return;
    std::optional<std::vector<std::uint64_t>> found;
    if (tables() != nullptr) found = branch_by_tables(steps.tables, {}, true);
    // Tables draw no conclusion from a long sum before all but one of its terms are fixed; intervals do.
    const bool sums = std::any_of(linear_.begin(), linear_.end(),
                                  [](const LinearConjunct &conjunct) { return conjunct.form.terms.size() > 3; });
    if (!found && (tables() == nullptr || sums)) found = branch(steps.branching, {});
    if (found) {
        method_ = Method::enumerated;
        publish(std::move(*found));
    }
}

// Takes over the start states if another engine of the task has listed them.
bool InitialStates::adopt() {
    const std::lock_guard lock(task_->listing);
    if (!task_->listed) return false;
    states_ = task_->listed;
    method_ = Method::enumerated;
    empty_ = states_->empty();
    return true;
}

void InitialStates::publish(std::vector<std::uint64_t> states) {
    states_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(states));
    empty_ = states_->empty();
    const std::lock_guard lock(task_->listing);
    task_->listed = states_;
}

// The number of combinations of values of the slots that no conjunct reads.
std::uint64_t InitialStates::free_states() const {
    std::vector<bool> read(width_, false);
    for (std::size_t i : rest_)
        for (SlotId slot : task_->start_tests[i].support) read[slot] = true;
    std::uint64_t count = 1;
    for (SlotId slot = 0; slot < width_; ++slot)
        if (!read[slot] && __builtin_mul_overflow(count, domains_[slot].size(), &count))
            return std::numeric_limits<std::uint64_t>::max();
    return count;
}

// Whether almost no proposal is a solution. The random numbers are fixed, so the answer is a function of the condition.
bool InitialStates::is_hopeless(int proposals) {
    constexpr int ENOUGH = 20;
    CounterRandom random(1);
    int found = 0;
    for (int i = 0; i < proposals && found < ENOUGH; ++i) {
        propose(random);
        found += accepted();
    }
    return found < ENOUGH;
}

bool InitialStates::accepted() {
    return std::all_of(rest_.begin(), rest_.end(),
                       [&](std::size_t i) { return (equation_ && i == *equation_) || holds(i); });
}

void InitialStates::keep(const Word *values, std::vector<std::uint64_t> &states) const {
    states.resize(states.size() + words_);
    model_.layout().pack(values, states.data() + states.size() - words_);
}

bool InitialStates::infinite() const {
    return std::any_of(domains_.begin(), domains_.end(),
                       [](const Domain &domain) { return domain.size() == 0 && !domain.listed; });
}

bool InitialStates::holds(std::size_t conjunct) {
    const Task::Test &test = task_->start_tests[conjunct];
    try {
        return model_.programs().holds(test.condition, registers_.data());
    } catch (const Fault &fault) {
        throw ModelError(
            std::string(fault.what) + " in the start condition, for " + model_.state_excerpt(registers_.data()),
            task_->start_where);
    }
}

// A conjunct may only be tested alone if it has a result whatever the values of the other slots are.
void InitialStates::shrink_domains() {
    const std::size_t count = task_->start_conjuncts.size();
    std::vector<bool> guaranteed(count, false);
    for (int round = 0; round < BOUND_ROUNDS; ++round)
        for (std::size_t i = 0; i < count && !empty_; ++i) {
            if (guaranteed[i] || !expressions_[task_->start_conjuncts[i]].total) continue;
            const std::vector<SlotId> &support = task_->start_tests[i].support;
            if (support.empty()) {
                if (!holds(i)) empty_ = true;
                guaranteed[i] = true;
            } else if (support.size() == 1) {
                guaranteed[i] = shrink_by_values(i, support.front()) || shrink_by_bounds(i, support.front(), round > 0);
            }
        }
    for (std::size_t i = 0; i < count; ++i)
        if (!guaranteed[i]) rest_.push_back(i);
}

bool InitialStates::shrink_by_values(std::size_t conjunct, SlotId slot) {
    Domain &domain = domains_[slot];
    if (domain.type == Type::real || domain.size() == 0 || domain.size() > MAX_LISTED) return false;
    std::vector<Word> kept;
    for (std::uint64_t i = 0; i < domain.size(); ++i) {
        registers_[slot] = domain.at(i);
        if (holds(conjunct)) kept.push_back(domain.at(i));
    }
    domain.values = std::move(kept);
    domain.listed = true;
    empty_ = empty_ || domain.values.empty();
    return true;
}

// True if the bounds are equivalent to the conjunct. Computed bounds of reals are rounded, and then the conjunct is checked again.
bool InitialStates::shrink_by_bounds(std::size_t conjunct, SlotId slot, bool computed) {
    const Expressions::Node &node = expressions_[task_->start_conjuncts[conjunct]];
    if (node.op != Op::equal && node.op != Op::less && node.op != Op::less_equal) return false;
    Domain &domain = domains_[slot];
    const ExprId left = node.arguments[0], right = node.arguments[1];
    const auto plain = [&](ExprId a, ExprId b) {
        return expressions_[a].op == Op::variable && expressions_.is_constant(b);
    };
    if (node.op == Op::equal && domain.type != Type::real && (plain(left, right) || plain(right, left))) {
        const Word value = expressions_[plain(left, right) ? right : left].word;
        empty_ = empty_ || value < domain.low || value > domain.high;
        domain.low = domain.high = value;
        return true;
    }
    if (domain.type != Type::real) {
        const auto form = integer_difference(expressions_, left, right);
        if (!form || form->terms.size() != 1 || std::abs(form->terms[0].second) != 1) return false;
        // weight * x + c, compared with zero
        const Word weight = form->terms[0].second;
        __extension__ using Signed = __int128;
        Signed bound = -static_cast<Signed>(form->constant) - (node.op == Op::less ? 1 : 0);
        if (weight < 0) bound = -bound;
        const Signed low = domain.low, high = domain.high;
        Signed new_low = low, new_high = high;
        if (node.op == Op::equal || weight > 0) new_high = std::min(high, bound);
        if (node.op == Op::equal || weight < 0) new_low = std::max(low, bound);
        if (new_low > new_high) {
            empty_ = true;
            return true;
        }
        domain.low = static_cast<Word>(new_low);
        domain.high = static_cast<Word>(new_high);
        return true;
    }
    const auto form = difference(expressions_, left, right);
    if (!form || form->terms.size() != 1) return false;
    const double bound = -form->constant / form->terms[0].second;
    if (!std::isfinite(bound)) return false;
    const bool above = form->terms[0].second > 0, exact = plain(left, right) || plain(right, left);
    if (!exact && !computed) return false;
    double low = domain.real_low, high = domain.real_high;
    if (node.op == Op::equal || above) high = std::min(high, bound);
    if (node.op == Op::equal || !above) low = std::max(low, bound);
    // Values next to a computed bound may fulfil the condition as well: x + 1 = 1 holds for many small numbers. So such a bound only
    // says where solutions are looked for. It neither excludes all of them nor leaves a single one. Exact bounds come first, since
    // they may do both.
    if (!exact && low > high) return false;
    if (!exact && (low != domain.real_low || high != domain.real_high)) domain.rounded = true;
    domain.real_low = low;
    domain.real_high = high;
    if (low > high) empty_ = true;
    return node.op != Op::less && exact;
}

void InitialStates::collect_linear() {
    for (std::size_t i : rest_) {
        const Expressions::Node &node = expressions_[task_->start_conjuncts[i]];
        if (node.op != Op::equal && node.op != Op::less && node.op != Op::less_equal) continue;
        auto form = integer_difference(expressions_, node.arguments[0], node.arguments[1]);
        if (!form || form->terms.empty()) continue;
        if (node.op == Op::less && __builtin_add_overflow(form->constant, 1, &form->constant)) continue;
        linear_.push_back({i, node.op == Op::equal ? Op::equal : Op::less_equal, std::move(*form)});
    }
}

std::optional<std::uint64_t> InitialStates::count() const {
    if (empty_) return 0;
    if (method_ == Method::listed || method_ == Method::enumerated) return kept();
    if (method_ == Method::rejection || method_ == Method::searched || infinite()) return std::nullopt;
    Wide total = equation_ ? ways_[0][0] : 1;
    std::set<SlotId> counted;
    if (equation_)
        for (const auto &[slot, weight] : form_.terms) counted.insert(slot);
    for (SlotId slot = 0; slot < width_; ++slot)
        if (!counted.contains(slot) && __builtin_mul_overflow(total, Wide{domains_[slot].size()}, &total))
            return std::nullopt;
    if (total > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    return static_cast<std::uint64_t>(total);
}

void InitialStates::sample(CounterRandom &random, Word *values, std::uint64_t tries) {
    if (empty_) no_state(*task_);
    if (method_ == Method::listed || method_ == Method::enumerated) {
        model_.layout().unpack(states_->data() + random.below(kept()) * words_, values);
        return;
    }
    if (method_ == Method::searched) tries = std::min(tries, SEARCH_TRIES);
    for (std::uint64_t attempt = 0; attempt < tries; ++attempt) {
        if (method_ == Method::searched ? descend(random) : (propose(random), accepted())) {
            std::copy_n(registers_.data(), width_, values);
            return;
        }
        if (method_ == Method::counted) break;  // cannot happen: every proposal is a solution
    }
    throw ModelError("no start state was found in " + std::to_string(tries) + " tries", task_->start_where,
                     "a start condition that is easier to satisfy", "list the start states instead (states-values)");
}

void InitialStates::propose(CounterRandom &random) {
    if (equation_) propose_equation(random);
    auto term = form_.terms.begin();  // in the order of their slots
    for (SlotId slot = 0; slot < width_; ++slot) {
        if (equation_ && term != form_.terms.end() && term->first == slot) {
            ++term;
            continue;
        }
        const Domain &domain = domains_[slot];
        if (domain.type == Type::real) {
            const double value = domain.real_low + (domain.real_high - domain.real_low) * random.real();
            registers_[slot] = stored_real(std::min(value, domain.real_high));
        } else {
            registers_[slot] = domain.at(random.below(domain.size()));
        }
    }
}

// Counts backwards: in the last table the required sum has one completion, and each earlier table adds up the completions over
// the values of its slot.
bool InitialStates::prepare_counting(const LinearConjunct &equation) {
    const auto &terms = equation.form.terms;
    std::vector<Word> lowest{0}, highest{0};
    std::uint64_t entries = 0;
    for (const auto &[slot, weight] : terms) {
        const Domain &domain = domains_[slot];
        if (domain.size() == 0 || domain.size() > MAX_LISTED) return false;
        Word low = std::numeric_limits<Word>::max(), high = std::numeric_limits<Word>::min();
        for (std::uint64_t i = 0; i < domain.size(); ++i) {
            Word value;
            if (__builtin_mul_overflow(domain.at(i), weight, &value)) return false;
            low = std::min(low, value);
            high = std::max(high, value);
        }
        if (__builtin_add_overflow(low, lowest.back(), &low) || __builtin_add_overflow(high, highest.back(), &high))
            return false;
        lowest.push_back(low);
        highest.push_back(high);
        entries += static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
        if (entries > MAX_SUMS) return false;
    }
    std::vector<std::vector<Wide>> ways(terms.size() + 1);
    for (std::size_t k = 0; k <= terms.size(); ++k)
        ways[k].assign(static_cast<std::size_t>(highest[k] - lowest[k] + 1), 0);
    Word wanted;
    if (__builtin_sub_overflow(Word{0}, equation.form.constant, &wanted)) return false;
    if (wanted < lowest.back() || wanted > highest.back()) {
        empty_ = true;
        return true;
    }
    ways.back()[static_cast<std::size_t>(wanted - lowest.back())] = 1;
    for (std::size_t k = terms.size(); k-- > 0;) {
        const auto &[slot, weight] = terms[k];
        for (std::uint64_t i = 0; i < domains_[slot].size(); ++i) {
            const Word step = domains_[slot].at(i) * weight + lowest[k] - lowest[k + 1];
            for (std::size_t sum = 0; sum < ways[k].size(); ++sum)
                if (__builtin_add_overflow(ways[k][sum], ways[k + 1][sum + static_cast<std::size_t>(step)],
                                           &ways[k][sum]))
                    return false;
        }
    }
    form_ = equation.form;
    equation_ = equation.conjunct;
    lowest_ = std::move(lowest);
    ways_ = std::move(ways);
    if (ways_[0][0] == 0) empty_ = true;
    return true;
}

void InitialStates::propose_equation(CounterRandom &random) {
    // Uniform below a number of 128 bits: draws as many random bits as the bound has, and again if the result is too large.
    const auto below = [&](Wide bound) -> Wide {
        if (bound <= std::numeric_limits<std::uint64_t>::max()) return random.below(static_cast<std::uint64_t>(bound));
        const int bits = 64 + std::bit_width(static_cast<std::uint64_t>((bound - 1) >> 64));
        for (;;) {
            const Wide drawn = ((static_cast<Wide>(random.next()) << 64) | random.next()) >> (128 - bits);
            if (drawn < bound) return drawn;
        }
    };
    Word sum = 0;
    for (std::size_t k = 0; k < form_.terms.size(); ++k) {
        const auto &[slot, weight] = form_.terms[k];
        const Domain &domain = domains_[slot];
        Wide pick = below(ways_[k][static_cast<std::size_t>(sum - lowest_[k])]);
        for (std::uint64_t i = 0;; ++i) {
            const Word next = sum + domain.at(i) * weight;
            const Wide ways = ways_[k + 1][static_cast<std::size_t>(next - lowest_[k + 1])];
            if (pick < ways) {
                registers_[slot] = domain.at(i);
                sum = next;
                break;
            }
            pick -= ways;
        }
    }
}

}  // namespace misstep::jani
