#include "orchestrator/service/decoded_text.h"

#include <numeric>
#include <optional>
#include <utility>

namespace millrace {
namespace {

/// The number that `count` hexadecimal digits at that place are; nullopt: they are not there.
std::optional<uint32_t> hex_number(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return std::nullopt;
  uint32_t number = 0;
  for (const char byte : text.substr(at, count)) {
    if (byte >= '0' && byte <= '9') {
      number = number << 4 | static_cast<uint32_t>(byte - '0');
    } else if (byte >= 'a' && byte <= 'f') {
      number = number << 4 | static_cast<uint32_t>(byte - 'a' + 10);
    } else if (byte >= 'A' && byte <= 'F') {
      number = number << 4 | static_cast<uint32_t>(byte - 'A' + 10);
    } else {
      return std::nullopt;
    }
  }
  return number;
}

std::string utf8_of(uint32_t code) {
  const auto byte = [](uint32_t bits) { return static_cast<char>(bits); };
  const auto more = [&](int shift) { return byte(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), more(0)};
  if (code < 0x10000) return {byte(0xe0 | code >> 12), more(6), more(0)};
  return {byte(0xf0 | code >> 18), more(12), more(6), more(0)};
}

/// The characters that quote_pattern() (matchers/pattern.h) escapes and that no escape of a JSON
/// string has.
constexpr std::string_view kPatternMarks = "^$.*+?()[]{}|-";

/// An escape of a JSON string or of a pattern.
struct Escape {
  std::string bytes;  ///< what it stands for
  size_t size = 0;    ///< its size in the text; 0: there is no valid escape
};

Escape escape_of_four_digits(std::string_view text, size_t at) {
  const auto code = hex_number(text, at + 2, 4);
  if (!code) return {};
  const bool is_high = *code >= 0xd800 && *code < 0xdc00;
  if (!is_high) return {utf8_of(*code), 6};
  const bool has_low = text.substr(at + 6).starts_with("\\u");
  const auto low = has_low ? hex_number(text, at + 8, 4) : std::nullopt;
  if (!low || *low < 0xdc00 || *low > 0xdfff) return {};
  return {utf8_of(0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00)), 12};
}

/// The escape at that place, which has a backslash.
Escape escape_at(std::string_view text, size_t at) {
  if (at + 1 == text.size()) return {};
  switch (text[at + 1]) {
    case 'n':
      return {"\n", 2};
    case 'r':
      return {"\r", 2};
    case 't':
      return {"\t", 2};
    case 'b':
      return {"\b", 2};
    case 'f':
      return {"\f", 2};
    case '"':
    case '\\':
    case '/':
      return {std::string(1, text[at + 1]), 2};
    case 'u':
      return escape_of_four_digits(text, at);
    default:
      if (kPatternMarks.find(text[at + 1]) == std::string_view::npos) return {};
      return {std::string(1, text[at + 1]), 2};
  }
}

}  // namespace

DecodedText::DecodedText(std::string_view original)
    : text_(original), origins_(original.size() + 1) {
  std::iota(origins_.begin(), origins_.end(), 0U);
}

void DecodedText::add(std::string_view bytes, size_t origin) {
  text_ += bytes;
  origins_.insert(origins_.end(), bytes.size(), static_cast<uint32_t>(origin));
}

DecodedText DecodedText::ended(size_t size) && {
  origins_.push_back(static_cast<uint32_t>(size));
  return std::move(*this);
}

DecodedText DecodedText::without_percents() const {
  DecodedText decoded;
  for (size_t at = 0; at < text_.size();) {
    const auto byte = text_[at] == '%' ? hex_number(text_, at + 1, 2) : std::nullopt;
    const char plain = text_[at] == '+' ? ' ' : text_[at];
    decoded.add(std::string(1, byte ? static_cast<char>(*byte) : plain), origins_[at]);
    at += byte ? 3 : 1;
  }
  return std::move(decoded).ended(origins_.back());
}

DecodedText DecodedText::without_escapes() const {
  DecodedText decoded;
  for (size_t at = 0; at < text_.size();) {
    const Escape escape = text_[at] == '\\' ? escape_at(text_, at) : Escape();
    if (escape.size == 0) {
      decoded.add(std::string_view(text_).substr(at, 1), origins_[at]);
      ++at;
      continue;
    }
    decoded.add(escape.bytes, origins_[at]);
    at += escape.size;
  }
  return std::move(decoded).ended(origins_.back());
}

}  // namespace millrace
