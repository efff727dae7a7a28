#include "expressions/jq_text.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "base/big_integer.h"

namespace millrace {
namespace {

constexpr size_t kMaxExcerptBytes = 14;
constexpr std::string_view kCut = "...";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// Appends a number with the fewest digits that identify it, and with an exponent only if that
/// saves many zeros.
void append_number(double number, std::string& out) {
  if (std::isnan(number)) {
    out += "null";
    return;
  }
  constexpr double kLargest = std::numeric_limits<double>::max();
  if (std::isinf(number)) number = std::copysign(kLargest, number);
  if (std::signbit(number)) out += '-';
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), std::abs(number),
                                 std::chars_format::scientific);
  // The text has the form d.ddde±xx.
  const std::string_view scientific(text, static_cast<size_t>(end.ptr - text));
  const size_t e = scientific.find('e');
  std::string digits(scientific.substr(0, 1));
  if (e > 1) digits += scientific.substr(2, e - 2);
  const auto count = static_cast<int>(digits.size());
  int exponent = 0;
  const char* const sign = scientific.data() + e + 1;
  std::from_chars(*sign == '+' ? sign + 1 : sign, end.ptr, exponent);

  constexpr int kMostZerosBehind = 14;
  constexpr int kLeastExponent = -4;
  if (exponent < kLeastExponent || exponent > count + kMostZerosBehind) {
    out += scientific;  // like jq's, its exponent has at least two digits
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
  } else if (exponent + 1 >= count) {
    out.append(digits).append(static_cast<size_t>(exponent + 1 - count), '0');
  } else {
    const auto integer_digits = static_cast<size_t>(exponent) + 1;
    out.append(digits, 0, integer_digits).append(".").append(digits, integer_digits);
  }
}

void append_string(std::string_view string, std::string& out, size_t enough) {
  constexpr std::string_view kEscaped = "\"\\\n\r\t\b\f";
  constexpr std::string_view kEscapes = "\"\\nrtbf";
  constexpr char kDelete = 0x7f;
  out += '"';
  for (const char c : string) {
    if (out.size() > enough) return;
    if (const size_t which = kEscaped.find(c); which != std::string_view::npos) {
      out += '\\';
      out += kEscapes[which];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == kDelete) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

/// The number of bytes of an incomplete UTF-8 character at the end of the text; 0 if the last
/// character is complete.
size_t unfinished_bytes(std::string_view text) {
  size_t behind = 0;
  while (behind < text.size() && (text[text.size() - 1 - behind] & 0xc0) == 0x80) ++behind;
  if (behind == text.size()) return 0;
  const auto lead = static_cast<unsigned char>(text[text.size() - 1 - behind]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return behind + 1 < length ? behind + 1 : 0;
}

}  // namespace

template <class J>
void append_jq_text(const J& value, std::string& out, size_t enough) {
  if (value.is_string()) {
    append_string(*value.template get_ptr<const std::string*>(), out, enough);
  } else if (is_any_number(value)) {
    append_number(double_of(value), out);
  } else if (value.is_null()) {
    out += "null";
  } else if (value.is_boolean()) {
    out += value.template get<bool>() ? "true" : "false";
  } else {
    out += value.is_array() ? '[' : '{';
    bool first = true;
    for (auto item = value.begin(); item != value.end() && out.size() <= enough; ++item) {
      if (!first) out += ',';
      first = false;
      if (value.is_object()) {
        append_string(item.key(), out, enough);
        out += ':';
      }
      append_jq_text(*item, out, enough);
    }
    out += value.is_array() ? ']' : '}';
  }
}

template void append_jq_text(const Json& value, std::string& out, size_t enough);
template void append_jq_text(const OrderedJson& value, std::string& out, size_t enough);

template <class J>
std::string jq_excerpt(const J& value) {
  std::string text;
  append_jq_text(value, text, kMaxExcerptBytes);
  if (text.size() <= kMaxExcerptBytes) return text;
  text.resize(kMaxExcerptBytes - kCut.size());
  if (const size_t unfinished = unfinished_bytes(text); unfinished > 0) {
    text.resize(text.size() - unfinished);
    text += kReplacement;
  }
  text += kCut;
  return text;
}

template std::string jq_excerpt(const Json& value);
template std::string jq_excerpt(const OrderedJson& value);

}  // namespace millrace
