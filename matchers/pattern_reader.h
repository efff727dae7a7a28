// PatternReader: reads the characters of a pattern one after the other, and the escapes that stand
// for one character or a set of characters. ecmascript.h builds the syntax tree from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "matchers/code_points.h"

namespace millrace {

/// The characters that `.` does not match (ECMA-262 section 12.3).
CodePoints line_terminators();

/// The error `pattern.malformed` at character `at` (from 0; the message counts from 1).
tl::unexpected<Error> malformed_pattern(size_t at, std::string_view what);

class PatternReader {
 public:
  explicit PatternReader(std::u32string text) : text_(std::move(text)) {}

  std::u32string_view text() const { return text_; }
  size_t at() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  void go_back_to(size_t at) { at_ = at; }

  /// The next character. Precondition: not at_end().
  char32_t peek() const { return text_[at_]; }
  char32_t take() { return text_[at_++]; }

  bool next_is(std::u32string_view text) const {
    return this->text().substr(at_).starts_with(text);
  }
  bool next_is_digit() const { return !at_end() && peek() >= '0' && peek() <= '9'; }

  /// Reads `text` if it is next.
  bool accept(std::u32string_view text);

  /// Reads decimal digits, if any are next; a number that is too large for any engine becomes 2^32
  /// − 2.
  std::optional<uint32_t> number();

  /// Reads the name of a group, including the `>` after it. It consists of letters, digits, `_` and
  /// `$`, and any other characters outside ASCII, which is more than ECMAScript accepts.
  Result<std::u32string> group_name();

  /// Reads the letter of `\d`, `\D`, `\s`, `\S`, `\w` or `\W` after a backslash; nullopt, and
  /// nothing is read, if another character follows.
  std::optional<CodePoints> set_escape();

  /// Reads an escape for one character after a backslash, in a class or outside. `\k` stands for a
  /// character only if no group of the pattern has a name.
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
