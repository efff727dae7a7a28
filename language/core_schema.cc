#include "language/core_schema.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/characters.h"

namespace millrace {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kCorePrefix = "tag:yaml.org,2002:";

template <size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

size_t count_digits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

/// Whether the text has the form [-+]? [0-9]+
bool is_integer(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && count_digits(text) == text.size();
}

/// Whether the text has the form [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_float(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const size_t before = count_digits(text);
  text.remove_prefix(before);
  size_t after = 0;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    after = count_digits(text);
    text.remove_prefix(after);
  }
  if (before + after == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  return is_integer(text.substr(1));
}

Resolved broken(std::string problem) { return {Kind::kBroken, nullptr, std::move(problem)}; }

Resolved resolve_float(std::string_view text) {
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  if (!std::isfinite(value)) {
    return broken(
        fmt::format("{} exceeds the largest number, which is about 1.8e308", in_quotes(text)));
  }
  return {Kind::kFloat, value, {}};
}

Resolved resolve_integer(std::string_view text) {
  std::string_view digits = text;
  if (digits[0] == '+') digits.remove_prefix(1);
  const char* const end = digits.data() + digits.size();
  if (int64_t value = 0; std::from_chars(digits.data(), end, value).ec == std::errc()) {
    // Non-negative integers are unsigned, as nlohmann's parser stores them.
    if (value >= 0) return {Kind::kInt, static_cast<uint64_t>(value), {}};
    return {Kind::kInt, value, {}};
  }
  if (uint64_t value = 0;
      digits[0] != '-' && std::from_chars(digits.data(), end, value).ec == std::errc()) {
    return {Kind::kInt, value, {}};
  }
  return resolve_float(text);
}

/// Resolves 0o[0-7]+ and 0x[0-9a-fA-F]+; any other text is a kString.
Resolved resolve_prefixed(std::string_view text) {
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'o' && text[1] != 'x')) {
    return {Kind::kString, text, {}};
  }
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, value, text[1] == 'o' ? 8 : 16);
  if (stop != end) return {Kind::kString, text, {}};
  if (error != std::errc()) {
    return broken(fmt::format("{} does not fit into 64 bits", in_quotes(text)));
  }
  return {Kind::kInt, value, {}};
}

std::string unknown_tag(std::string_view tag) {
  return fmt::format(
      "the tag {} is not supported; use !!str, !!int, !!float, !!bool, !!null, !!seq or !!map",
      in_quotes(tag));
}

}  // namespace

Resolved resolve_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
  static constexpr std::array<std::string_view, 3> kTrue = {"true", "True", "TRUE"};
  static constexpr std::array<std::string_view, 3> kFalse = {"false", "False", "FALSE"};
  static constexpr std::array<std::string_view, 3> kNan = {".nan", ".NaN", ".NAN"};
  static constexpr std::array<std::string_view, 3> kInf = {".inf", ".Inf", ".INF"};
  if (is_one_of(text, kNull)) return {Kind::kNull, nullptr, {}};
  if (is_one_of(text, kTrue)) return {Kind::kBool, true, {}};
  if (is_one_of(text, kFalse)) return {Kind::kBool, false, {}};
  const bool sign = text[0] == '-' || text[0] == '+';
  if (is_one_of(text, kNan) || is_one_of(text.substr(sign ? 1 : 0), kInf)) {
    return broken(
        fmt::format("{} is not a number in JSON; write a string in quotes", in_quotes(text)));
  }
  if (is_integer(text)) return resolve_integer(text);
  if (is_float(text)) return resolve_float(text);
  return resolve_prefixed(text);
}

Resolved resolve_tagged(std::string_view text, std::string_view tag) {
  if (tag == "!") return {Kind::kString, text, {}};
  if (!tag.starts_with(kCorePrefix)) return broken(unknown_tag(tag));
  const std::string_view name = tag.substr(kCorePrefix.size());
  if (name == "str") return {Kind::kString, text, {}};

  Kind wanted = Kind::kBroken;
  if (name == "null") wanted = Kind::kNull;
  if (name == "bool") wanted = Kind::kBool;
  if (name == "int") wanted = Kind::kInt;
  if (name == "float") wanted = Kind::kFloat;
  if (wanted == Kind::kBroken) {
    if (name == "seq" || name == "map") return broken(fmt::format("a string is not a !!{}", name));
    return broken(unknown_tag(tag));
  }
  Resolved resolved = resolve_plain(text);
  if (wanted == Kind::kFloat && resolved.kind == Kind::kInt) {
    if (is_integer(text)) return resolve_float(text);
    return {Kind::kFloat, resolved.value.get<double>(), {}};  // 0o17, 0x1f
  }
  if (resolved.kind != wanted && resolved.kind != Kind::kBroken) {
    return broken(fmt::format("{} is not a valid !!{}", in_quotes(text), name));
  }
  return resolved;
}

std::string collection_tag_problem(std::string_view tag, Node::Kind kind) {
  const bool is_list = kind == Kind::kSequence;
  if (tag.empty() || tag == "!") return {};
  if (tag == fmt::format("{}{}", kCorePrefix, is_list ? "seq" : "map")) return {};
  static constexpr std::array<std::string_view, 7> kCore = {"str",   "null", "bool", "int",
                                                            "float", "seq",  "map"};
  if (tag.starts_with(kCorePrefix) && is_one_of(tag.substr(kCorePrefix.size()), kCore)) {
    return fmt::format("a {} is not a !!{}", is_list ? "list" : "mapping",
                       tag.substr(kCorePrefix.size()));
  }
  return unknown_tag(tag);
}

}  // namespace millrace
