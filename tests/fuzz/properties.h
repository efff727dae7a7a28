// Helpers that the fuzz targets share: how an input is divided, and properties that each error and
// each JSON value must have. A property that does not hold stops the process (CHECK). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/big_integer.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/json.h"
#include "base/result.h"

namespace millrace::fuzz {

/// The first line of an input, without its line feed, and the rest. Without a line feed, the whole
/// input and an empty text.
inline std::pair<std::string_view, std::string_view> first_line_and_rest(std::string_view bytes) {
  const size_t at = bytes.find('\n');
  if (at == std::string_view::npos) return {bytes, {}};
  return {bytes.substr(0, at), bytes.substr(at + 1)};
}

/// Stops the process if the error has no code, or if its message cannot be shown in JSON or is
/// empty. An error must not repeat a long input, so a message of more than `most` bytes is a
/// mistake too.
inline void check_shown_error(const Error& error, size_t most = 4096) {
  CHECK(!error.code.empty(), "an error without a code: {}", excerpt(error.message));
  CHECK(is_printable_ascii(error.code), "the code of an error is {}", excerpt(error.code));
  CHECK(!error.message.empty(), "{} has no message", error.code);
  CHECK(is_utf8(error.message), "the message of {} is not UTF-8: {}", error.code,
        excerpt(error.message));
  CHECK(error.message.size() <= most, "the message of {} has {} bytes: {}", error.code,
        error.message.size(), excerpt(error.message));
}

/// Whether two values are equal, except for the spelling of numbers.
inline bool is_same_value(const Json& a, const Json& b) {
  if (is_any_number(a) && is_any_number(b)) return double_of(a) == double_of(b);
  if (!a.is_structured() || a.type() != b.type()) return a == b;
  if (a.size() != b.size()) return false;
  for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
    if (a.is_object() && left.key() != right.key()) return false;
    if (!is_same_value(*left, *right)) return false;
  }
  return true;
}

}  // namespace millrace::fuzz
