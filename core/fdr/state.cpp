#include "fdr/state.h"

#include <charconv>
#include <stdexcept>

#include "base/hash.h"

namespace misstep {

std::uint64_t State::hash() const {
    std::uint64_t h = values_.size();
    for (int value : values_) h = fold_multiply(h ^ static_cast<unsigned>(value), 0x9e3779b97f4a7c15ULL) + 1;
    return h;
}

std::string State::text() const {
    std::string result;
    for (int value : values_) {
        if (!result.empty()) result += ' ';
        result += std::to_string(value);
    }
    return result;
}

State State::parse(std::string_view text) {
    std::vector<int> values;
    const char *at = text.data();
    const char *const end = at + text.size();
    while (true) {
        while (at != end && (*at == ' ' || *at == ',')) ++at;
        if (at == end) return State(std::move(values));
        int value = 0;
        const auto [next, error] = std::from_chars(at, end, value);
        if (error != std::errc() || value < 0) throw std::invalid_argument("a state is a list of non-negative numbers");
        values.push_back(value);
        at = next;
    }
}

}  // namespace misstep
