#include "matchers/pattern_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

// The sets of section 22.2.2.9, CharacterClassEscape; white space is that of sections 12.2 and
// 12.3.
constexpr CodePointRange kDigits[] = {{'0', '9'}};
constexpr CodePointRange kWord[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
constexpr CodePointRange kSpace[] = {
    {0x09, 0x0d},     {0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
    {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};

template <size_t size>
CodePoints set_of(const CodePointRange (&ranges)[size]) {
  return CodePoints(std::begin(ranges), std::end(ranges));
}

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_octal(char32_t c) { return c >= '0' && c <= '7'; }
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::optional<uint32_t> hex_digit(char32_t c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace

CodePoints line_terminators() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }

tl::unexpected<Error> malformed_pattern(size_t at, std::string_view what) {
  return fail("pattern.malformed", fmt::format("character {}: {}", at + 1, what));
}

bool PatternReader::accept(std::u32string_view text) {
  if (!next_is(text)) return false;
  at_ += text.size();
  return true;
}

std::optional<uint32_t> PatternReader::number() {
  if (!next_is_digit()) return std::nullopt;
  uint64_t value = 0;
  while (next_is_digit()) value = std::min<uint64_t>(value * 10 + (take() - '0'), 0xfffffffe);
  return static_cast<uint32_t>(value);
}

Result<std::u32string> PatternReader::group_name() {
  std::u32string name;
  while (!at_end()) {
    const char32_t c = peek();
    const bool belongs =
        is_letter(c) || c == '_' || c == '$' || c >= 0x80 || (is_digit(c) && !name.empty());
    if (!belongs) break;
    name.push_back(take());
  }
  if (name.empty() || !accept(U">")) {
    return malformed_pattern(at_,
                             "a group's name is letters, digits, \"_\" and \"$\", no digit first, "
                             "and ends with \">\"");
  }
  return name;
}

std::optional<CodePoints> PatternReader::set_escape() {
  if (accept(U"d")) return set_of(kDigits);
  if (accept(U"D")) return complement(set_of(kDigits));
  if (accept(U"s")) return set_of(kSpace);
  if (accept(U"S")) return complement(set_of(kSpace));
  if (accept(U"w")) return set_of(kWord);
  if (accept(U"W")) return complement(set_of(kWord));
  return std::nullopt;
}

Result<char32_t> PatternReader::character_escape(bool in_class, bool names_groups) {
  const size_t at = at_ - 1;
  if (at_end()) {
    return malformed_pattern(at,
                             "the pattern ends with a backslash: write \"\\\\\" for the character");
  }
  if (is_octal(peek())) return octal();
  const char32_t c = take();
  switch (c) {
    case 'f':
      return U'\f';
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case 'v':
      return U'\v';
    case 'c':
      return control_escape(in_class);
    case 'x':
      return hex(2).value_or(U'x');
    case 'u':
      return unicode_escape(at);
    case 'k':
      if (names_groups) {
        return malformed_pattern(
            at,
            "\"\\k\" must name a group here, because the pattern has named groups: \"\\k<name>\"");
      }
      return c;
    default:
      return c;
  }
}

/// Reads the character after `\c`: a letter, in a class also a digit or `_`. Without such a
/// character, the backslash means itself.
char32_t PatternReader::control_escape(bool in_class) {
  if (!at_end() && (is_letter(peek()) || (in_class && (is_digit(peek()) || peek() == '_')))) {
    return take() % 32;
  }
  --at_;
  return U'\\';
}

/// Reads the four digits after `\u`; without them, `\u` means the letter u.
Result<char32_t> PatternReader::unicode_escape(size_t at) {
  const std::optional<char32_t> unit = hex(4);
  if (!unit) return U'u';
  if (!is_surrogate(*unit)) return *unit;
  if (*unit < 0xdc00 && accept(U"\\u")) {
    const std::optional<char32_t> low = hex(4);
    if (low && *low >= 0xdc00 && *low <= 0xdfff) {
      return 0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00);
    }
  }
  return malformed_pattern(at,
                           "this escape is half of a surrogate pair, and patterns consist of whole "
                           "characters: write both halves, or the character itself");
}

/// Reads exactly `digits` hexadecimal digits; nullopt, and nothing is read, if there are fewer.
std::optional<char32_t> PatternReader::hex(size_t digits) {
  if (text_.size() - at_ < digits) return std::nullopt;
  char32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const std::optional<uint32_t> digit = hex_digit(text_[at_ + i]);
    if (!digit) return std::nullopt;
    value = value << 4 | *digit;
  }
  at_ += digits;
  return value;
}

/// Reads one to three octal digits, at most \377 (Annex B).
char32_t PatternReader::octal() {
  const size_t most = peek() <= '3' ? 3 : 2;
  char32_t value = 0;
  for (size_t i = 0; i < most && !at_end() && is_octal(peek()); ++i) {
    value = value << 3 | (take() - '0');
  }
  return value;
}

}  // namespace millrace
