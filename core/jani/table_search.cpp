#include "jani/table_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace misstep::jani {

namespace {

constexpr std::size_t LARGEST_TABLE = 1 << 14;
constexpr std::uint64_t EARLY = 1 << 17;  // steps after which the length of the whole search is estimated
constexpr double FAR = 3;                 // times the allowed steps: an estimate beyond that ends the search

const std::array<double, TableSearch::MOST_VALUES + 1> LOGARITHMS = [] {
    std::array<double, TableSearch::MOST_VALUES + 1> result{};
    for (std::size_t i = 1; i < result.size(); ++i) result[i] = std::log2(static_cast<double>(i));
    return result;
}();

std::uint64_t all_of(std::size_t size) { return size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1; }

}  // namespace

TableSearch::TableSearch(std::vector<std::vector<Word>> domains, std::vector<Condition> conditions, Word *registers,
                         Holds holds)
    : domains_(std::move(domains)),
      conditions_(std::move(conditions)),
      registers_(registers),
      holds_(std::move(holds)),
      tables_(conditions_.size()),
      readers_(domains_.size()),
      fixed_(domains_.size(), false),
      value_(domains_.size(), 0) {
    for (const std::vector<Word> &values : domains_) left_.push_back(all_of(values.size()));
    for (std::size_t c = 0; c < conditions_.size(); ++c) {
        open_.push_back(static_cast<std::uint32_t>(conditions_[c].support.size()));
        for (SlotId slot : conditions_[c].support) readers_[slot].push_back(static_cast<std::uint32_t>(c));
        tabulate(c);
    }
    for (const auto &readers : readers_)
        weight_.push_back(1.0 / (static_cast<double>(readers.size()) + 0.01));  // slots that nothing reads come last
}

void TableSearch::tabulate(std::size_t condition) {
    const std::vector<SlotId> &support = conditions_[condition].support;
    Table table;
    std::size_t size = 1;
    for (SlotId slot : support) {
        table.strides.push_back(size);
        size *= domains_[slot].size();
        if (size > LARGEST_TABLE) return;
    }
    table.allowed.assign(support.size(), std::vector<std::uint64_t>(size, 0));
    for (std::size_t index = 0; index < size; ++index) {
        const auto digit = [&](std::size_t p) { return index / table.strides[p] % domains_[support[p]].size(); };
        for (std::size_t p = 0; p < support.size(); ++p) registers_[support[p]] = domains_[support[p]][digit(p)];
        if (!holds_(conditions_[condition].name)) continue;
        for (std::size_t p = 0; p < support.size(); ++p)
            table.allowed[p][index - digit(p) * table.strides[p]] |= std::uint64_t{1} << digit(p);
    }
    tables_[condition] = std::move(table);
}

// The values that one slot of a condition may have, where all others are fixed.
std::uint64_t TableSearch::allowed(std::size_t condition, std::size_t position) {
    const std::vector<SlotId> &support = conditions_[condition].support;
    if (const std::optional<Table> &table = tables_[condition]) {
        std::size_t index = 0;
        for (std::size_t p = 0; p < support.size(); ++p)
            if (p != position) index += value_[support[p]] * table->strides[p];
        return table->allowed[position][index];
    }
    const SlotId slot = support[position];
    std::uint64_t result = 0;
    for (std::uint64_t rest = left_[slot]; rest != 0; rest &= rest - 1) {
        const int value = std::countr_zero(rest);
        registers_[slot] = domains_[slot][static_cast<std::size_t>(value)];
        if (holds_(conditions_[condition].name)) result |= std::uint64_t{1} << value;
    }
    return result;
}

// Propagates a condition with one slot that is not fixed. False: the slot has no value left.
bool TableSearch::filter(std::size_t condition) {
    const std::vector<SlotId> &support = conditions_[condition].support;
    std::size_t position = 0;
    while (fixed_[support[position]]) ++position;
    const SlotId slot = support[position];
    const std::uint64_t left = left_[slot] & allowed(condition, position);
    if (left == left_[slot]) return true;
    if (left == 0) return false;
    trail_.push_back({slot, false, left_[slot]});
    left_[slot] = left;
    if (std::has_single_bit(left)) waiting_.push_back(slot);
    return true;
}

bool TableSearch::settle() {
    while (!waiting_.empty()) {
        const SlotId slot = waiting_.back();
        waiting_.pop_back();
        if (fixed_[slot]) continue;
        fixed_[slot] = true;
        value_[slot] = static_cast<std::uint32_t>(std::countr_zero(left_[slot]));
        registers_[slot] = domains_[slot][value_[slot]];
        trail_.push_back({slot, true, 0});
        for (std::uint32_t c : readers_[slot]) --open_[c];
        for (std::uint32_t c : readers_[slot])
            if (open_[c] == 1 && !filter(c)) {
                waiting_.clear();
                return false;
            }
    }
    return true;
}

bool TableSearch::choose(SlotId slot, std::uint64_t value) {
    trail_.push_back({slot, false, left_[slot]});
    left_[slot] = value;
    waiting_.push_back(slot);
    return settle();
}

bool TableSearch::start() {
    if (!started_) started_ = propagate();
    // Others write the registers between two searches, and the slots that are fixed from the start are not fixed again.
    for (SlotId slot = 0; slot < domains_.size(); ++slot)
        if (fixed_[slot]) registers_[slot] = domains_[slot][value_[slot]];
    return *started_;
}

// What follows before any choice. False: there is no solution.
bool TableSearch::propagate() {
    for (SlotId slot = 0; slot < domains_.size(); ++slot) {
        if (left_[slot] == 0) return false;
        if (std::has_single_bit(left_[slot])) waiting_.push_back(slot);
    }
    for (std::size_t c = 0; c < conditions_.size(); ++c)
        if (open_[c] == 1 && !filter(c)) return false;
    return settle();
}

void TableSearch::go_back(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
        const Change &change = trail_.back();
        if (!change.fixed) {
            left_[change.slot] = change.left;
            continue;
        }
        fixed_[change.slot] = false;
        for (std::uint32_t c : readers_[change.slot]) ++open_[c];
    }
}

// A slot with few values left that many conditions read.
std::optional<SlotId> TableSearch::next_slot() const {
    std::optional<SlotId> best;
    double least = 0;
    for (SlotId slot = 0; slot < domains_.size(); ++slot) {
        if (fixed_[slot]) continue;
        const double score = LOGARITHMS[static_cast<std::size_t>(std::popcount(left_[slot]))] * weight_[slot];
        if (!best || score < least) {
            best = slot;
            least = score;
        }
    }
    return best;
}

// The share of the search that is done, if all values lead to equally large parts.
double TableSearch::share_done(const std::vector<Choice> &choices) {
    double done = 0, share = 1;
    for (const Choice &choice : choices) {
        share /= std::popcount(choice.all);
        // The current value is neither left to be tried nor done.
        done += share * (std::popcount(choice.all) - std::popcount(choice.rest) - 1);
    }
    return done;
}

bool TableSearch::enumerate(std::uint64_t max_steps, const std::function<void()> &found,
                            const std::function<bool()> &go_on, bool hurry) {
    if (!start()) return true;
    std::vector<Choice> choices;
    const std::size_t root = trail_.size();
    const auto look = [&] {
        if (const auto slot = next_slot()) choices.push_back({*slot, left_[*slot], left_[*slot], trail_.size()});
        else found();
    };
    std::uint64_t steps = 0;
    look();
    while (!choices.empty()) {
        Choice &choice = choices.back();
        go_back(choice.mark);
        if (choice.rest == 0) {
            choices.pop_back();
            continue;
        }
        ++steps;
        const bool far = hurry && steps == EARLY &&
                         static_cast<double>(EARLY) > FAR * static_cast<double>(max_steps) * share_done(choices);
        if (steps > max_steps || far || (steps % ASK_EVERY == 0 && go_on && !go_on())) {
            go_back(root);
            return false;
        }
        const std::uint64_t value = choice.rest & -choice.rest;
        choice.rest ^= value;
        if (choose(choice.slot, value)) look();
    }
    go_back(root);
    return true;
}

bool TableSearch::descend(CounterRandom &random) {
    if (!start()) return false;
    const std::size_t root = trail_.size();
    bool solved = false;
    for (;;) {
        const auto slot = next_slot();
        if (!slot) {
            solved = true;
            break;
        }
        const std::size_t mark = trail_.size();
        std::uint64_t rest = left_[*slot];
        bool moved = false;
        while (rest != 0 && !moved) {
            std::uint64_t others = rest;
            for (std::uint64_t skip = random.below(static_cast<std::uint64_t>(std::popcount(rest))); skip > 0; --skip)
                others &= others - 1;
            const std::uint64_t value = others & -others;
            rest ^= value;
            moved = choose(*slot, value);
            if (!moved) go_back(mark);
        }
        if (!moved) break;
    }
    go_back(root);
    return solved;
}

}  // namespace misstep::jani
