// The characters of a pattern, read one after the other, and the escapes that stand for one
// character or a set of them. What those build is ecmascript.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "matchers/code_points.h"

namespace millrace {

/// What `.` does not match (ECMA-262 section 12.3).
CodePoints line_terminators();

/// The error `pattern.malformed` for what stands at character `at` (from 0; the message counts
/// from 1).
tl::unexpected<Error> malformed_pattern(size_t at, std::string_view what);

class PatternReader {
 public:
  explicit PatternReader(std::u32string text) : text_(std::move(text)) {}

  std::u32string_view text() const { return text_; }
  size_t at() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  void go_back_to(size_t at) { at_ = at; }

  /// The next character, which is there.
  char32_t peek() const { return text_[at_]; }
  char32_t take() { return text_[at_++]; }

  bool next_is(std::u32string_view text) const {
    return this->text().substr(at_).starts_with(text);
  }
  bool next_is_digit() const { return !at_end() && peek() >= '0' && peek() <= '9'; }

  /// Reads `text` if it is next.
  bool accept(std::u32string_view text);

  /// Decimal digits; what is too big for any engine becomes 2^32 − 2.
  std::optional<uint32_t> number();

  /// The name of a group up to and with the `>`. Letters, digits, `_` and `$`; of the rest of
  /// Unicode all, which is more than ECMAScript takes.
  Result<std::u32string> group_name();

  /// After a backslash: `\d`, `\D`, `\s`, `\S`, `\w`, `\W`, or nothing is read.
  std::optional<CodePoints> set_escape();

  /// After a backslash: all that stands for one character, in a class or outside; `\k` does only
  /// where no group has a name.
  Result<char32_t> character_escape(bool in_class, bool names_groups);

 private:
  char32_t control_escape(bool in_class);
  Result<char32_t> unicode_escape(size_t at);
  std::optional<char32_t> hex(size_t digits);
  char32_t octal();

  std::u32string text_;
  size_t at_ = 0;
};

}  // namespace millrace
