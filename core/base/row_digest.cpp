#include "base/row_digest.h"

#include <charconv>

namespace misstep {
namespace {

constexpr std::string_view DIGITS = "0123456789abcdef";

void add_hex(std::string &text, std::uint32_t value, int digits) {
    for (int i = digits - 1; i >= 0; --i) text += DIGITS[value >> 4 * i & 15];
}

// Python writes double quotes around a text that contains single quotes and no double ones.
char quote_of(std::string_view content) {
    const bool single = content.find('\'') != std::string_view::npos;
    return single && content.find('"') == std::string_view::npos ? '"' : '\'';
}

void add_ascii(std::string &text, char character, char quote) {
    if (character == quote || character == '\\') {
        text += '\\';
        text += character;
    } else if (character == '\n') {
        text += "\\n";
    } else if (character == '\r') {
        text += "\\r";
    } else if (character == '\t') {
        text += "\\t";
    } else if (character >= ' ' && character < 0x7f) {
        text += character;
    } else {
        text += "\\x";
        add_hex(text, static_cast<std::uint8_t>(character), 2);
    }
}

void add_wide(std::string &text, std::uint32_t point) {
    const int digits = point < 0x100 ? 2 : point < 0x10000 ? 4 : 8;
    text += '\\';
    text += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
    add_hex(text, point, digits);
}

// How many characters from position `at` on are written without an escape.
std::size_t plain_from(std::string_view content, std::size_t at, char quote) {
    const std::size_t start = at;
    while (at < content.size() && content[at] >= ' ' && content[at] < 0x7f && content[at] != quote &&
           content[at] != '\\')
        ++at;
    return at - start;
}

// Reads the character at position `at`, which is not ASCII, and moves the position behind it.
std::uint32_t take_wide(std::string_view utf8, std::size_t &at) {
    const auto first = static_cast<std::uint8_t>(utf8[at++]);
    std::uint32_t point = first < 0xe0 ? first & 0x1fU : first < 0xf0 ? first & 0x0fU : first & 0x07U;
    while (at < utf8.size() && (static_cast<std::uint8_t>(utf8[at]) & 0xc0U) == 0x80)
        point = point << 6 | (static_cast<std::uint8_t>(utf8[at++]) & 0x3fU);
    return point;
}

}  // namespace

void RowText::add(std::string_view written) {
    if (values_++ > 0) text_ += ", ";
    text_ += written;
}

void RowText::add_integer(std::int64_t value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void RowText::add_text(std::string_view utf8) {
    const char quote = quote_of(utf8);
    add({&quote, 1});
    for (std::size_t at = 0; at < utf8.size();) {
        const std::size_t plain = plain_from(utf8, at, quote);
        text_.append(utf8, at, plain);
        at += plain;
        if (at == utf8.size()) break;
        if (static_cast<std::uint8_t>(utf8[at]) < 0x80) add_ascii(text_, utf8[at++], quote);
        else add_wide(text_, take_wide(utf8, at));
    }
    text_ += quote;
}

void RowText::add_bytes(std::string_view bytes) {
    const char quote = quote_of(bytes);
    add("b");
    text_ += quote;
    for (const char byte : bytes) add_ascii(text_, byte, quote);
    text_ += quote;
}

void RowText::add_digest(std::string_view bytes) {
    add("('sha256', '");
    for (const std::uint8_t byte : sha256(bytes)) add_hex(text_, byte, 2);
    text_ += "')";
}

Sha256 RowText::finish() {
    text_ += values_ == 1 ? ",)" : ")";
    const Sha256 digest = sha256(text_);
    text_ = "(";
    values_ = 0;
    return digest;
}

void DigestSum::add(const Sha256 &digest) {
    ++count_;
    std::uint64_t carry = 0;
    for (std::size_t word = 0; word < words_.size(); ++word) {
        std::uint64_t added = 0;
        const std::size_t start = 8 * (words_.size() - 1 - word);
        for (std::size_t i = 0; i < 8; ++i) added = added << 8 | digest[start + i];
        const std::uint64_t before = words_[word];
        words_[word] += added + carry;
        carry = words_[word] < before || (carry && words_[word] == before) ? 1 : 0;
    }
}

Sha256 DigestSum::bytes() const {
    Sha256 found;
    for (std::size_t i = 0; i < found.size(); ++i)
        found[i] = static_cast<std::uint8_t>(words_[(found.size() - 1 - i) / 8] >> 8 * ((found.size() - 1 - i) % 8));
    return found;
}

}  // namespace misstep
