#include "jani/value.h"

#include <charconv>

namespace misstep::jani {

const char *name(Type type) {
    switch (type) {
        case Type::boolean: return "bool";
        case Type::integer: return "int";
        case Type::real: return "real";
    }
    return "";
}

std::string text(Type type, Word value) {
    if (type == Type::boolean) return value != 0 ? "true" : "false";
    if (type == Type::integer) return std::to_string(value);
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, as_real(value));
    return std::string(buffer, end);
}

}  // namespace misstep::jani
