#include "states/message_format.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "base/big_integer.h"
#include "base/check.h"

namespace millrace {
namespace {

constexpr std::string_view kVerbs = "svdifgxqt";

/// The number of code points of the text, which is the unit of a width.
size_t length_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// The first `count` code points.
std::string head_of(std::string_view text, size_t count) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if ((text[end] & 0xc0) != 0x80 && count-- == 0) break;
  }
  return std::string(text.substr(0, end));
}

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const auto number = value.get<double>();
  return std::trunc(number) == number && std::abs(number) < 9.2e18;
}

/// The end, as a byte offset, of the character that begins at byte `at`.
size_t end_of_character(std::string_view text, size_t at) {
  do {
    ++at;
  } while (at < text.size() && (text[at] & 0xc0) == 0x80);
  return std::min(at, text.size());
}

/// Formats a number with the C library's printf; `length` is the length modifier.
template <class T>
std::string print_number(const std::string& flags, int width, int precision, const char* length,
                         char verb, T number) {
  const std::string format = fmt::format(
      "%{}*{}{}{}", flags, precision < 0 ? "" : fmt::format(".{}", precision), length, verb);
  std::array<char, 512> buffer;
  const int size = std::snprintf(buffer.data(), buffer.size(), format.c_str(), width, number);
  CHECK(size >= 0);
  return buffer.data();  // the longest number, the lowest double with 99 decimals, has 410 bytes
}

}  // namespace

Result<MessageFormat> MessageFormat::parse(std::string_view text) {
  MessageFormat result;
  std::string literal;
  size_t at = 0;
  // The next character; at the end of the text NUL, which no conversion has.
  const auto next = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto number = [&]() -> int {  // up to two digits; 100 for more, which is refused below
    int value = 0;
    size_t digits = 0;
    for (; next() >= '0' && next() <= '9'; ++at, ++digits) {
      value = digits < 2 ? value * 10 + (next() - '0') : 100;
    }
    return value;
  };
  while (at < text.size()) {
    const char c = text[at++];
    if (c != '%') {
      literal.push_back(c);
      continue;
    }
    const size_t begin = at - 1;
    if (next() == '%') {
      literal.push_back('%');
      ++at;
      continue;
    }
    Conversion conversion;
    while (std::string_view("-+0# ").find(next()) != std::string_view::npos) {
      if (conversion.flags.find(next()) == std::string::npos) conversion.flags += next();
      ++at;
    }
    conversion.width = number();
    if (next() == '.') {
      ++at;
      conversion.precision = number();
    }
    if (kVerbs.find(next()) == std::string_view::npos || conversion.width > 99 ||
        conversion.precision > 99) {
      return fail("definition.message_format",
                  fmt::format("\"{}\" at character {} is not a conversion; write %s %v %d %i %f %g "
                              "%x %q %t, with a width and a precision of up to 99, or %% for a "
                              "percent sign",
                              text.substr(begin, end_of_character(text, at) - begin),
                              length_of(text.substr(0, begin)) + 1));
    }
    conversion.verb = text[at++];
    if (!literal.empty()) result.pieces_.emplace_back(std::move(literal));
    literal.clear();
    result.pieces_.emplace_back(std::move(conversion));
  }
  if (!literal.empty()) result.pieces_.emplace_back(std::move(literal));
  return result;
}

size_t MessageFormat::conversions() const {
  return static_cast<size_t>(std::count_if(pieces_.begin(), pieces_.end(), [](const auto& piece) {
    return std::holds_alternative<Conversion>(piece);
  }));
}

std::optional<std::string> MessageFormat::convert_number(const Conversion& conversion,
                                                         const Json& value) {
  const auto& [verb, flags, width, precision] = conversion;
  if ((verb == 'd' || verb == 'i') && is_whole(value)) {
    // `u` ignores sign flags, so it is used only for values that are too large for `d`.
    if (value.is_number_unsigned() &&
        value.get<unsigned long long>() > std::numeric_limits<long long>::max()) {
      return print_number(flags, width, precision, "ll", 'u', value.get<unsigned long long>());
    }
    return print_number(flags, width, precision, "ll", 'd', value.get<long long>());
  }
  if (verb == 'x' && value.is_number_integer()) {
    return print_number(flags, width, precision, "ll", 'x', value.get<unsigned long long>());
  }
  if ((verb == 'f' || verb == 'g') && is_any_number(value)) {
    return print_number(flags, width, precision, "", verb, double_of(value));
  }
  return std::nullopt;
}

std::string MessageFormat::convert(const Conversion& conversion, const LazyJson& value) {
  if (!value.is_large()) {
    if (auto number = convert_number(conversion, value.value())) return *std::move(number);
  }
  const auto& [verb, flags, width, precision] = conversion;
  std::string text;
  if (verb == 'q') {
    if (value.is_string()) {
      text = value.text();
    } else {
      append_json_string(value.text(), text);
    }
  } else if (verb == 'x' && value.is_string()) {
    const std::string characters = value.string();
    for (const unsigned char byte : characters) text += fmt::format("{:02x}", byte);
  } else {
    text = value.is_string() ? value.string() : value.text();
  }
  if (precision >= 0 && (verb == 's' || verb == 'v')) {
    text = head_of(text, static_cast<size_t>(precision));
  }
  const size_t length = length_of(text);
  const size_t padding = std::max(length, static_cast<size_t>(width)) - length;
  const bool left = flags.find('-') != std::string::npos;
  return left ? text + std::string(padding, ' ') : std::string(padding, ' ') + text;
}

std::string MessageFormat::format(std::span<const LazyJson> args) const {
  CHECK(args.size() == conversions());
  std::string message;
  for (const auto& piece : pieces_) {
    if (const auto* literal = std::get_if<std::string>(&piece)) {
      message += *literal;
    } else {
      message += convert(std::get<Conversion>(piece), args.front());
      args = args.subspan(1);
    }
  }
  return message;
}

}  // namespace millrace
