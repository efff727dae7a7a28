// Pattern: one compiled pattern. Most patterns are plain text, anchored or not, and are compared as
// text. The others run on RE2 in linear time, or, if they have look-around or back-references, on
// PCRE2 with a limit. Immutable; any number of threads may match at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

class Pattern {
 public:
  enum class Kind {
    kAny,           ///< every text matches
    kEquals,        ///< the value equals `literal()`
    kPrefix,        ///< the value begins with `literal()`
    kSuffix,        ///< the value ends with `literal()`
    kContains,      ///< the value contains `literal()`
    kLinear,        ///< RE2
    kBacktracking,  ///< PCRE2: look-around, back-references, or too large for RE2
  };

  enum class Answer {
    kNo,
    kYes,
    kOverLimit,  ///< PCRE2 stopped at its limit of steps, or of memory
  };

  /// The most steps for one value (PCRE2's match limit). A pattern that would need more does not
  /// match.
  static constexpr uint32_t kMatchLimit = 10'000;

  /// The size of a value, in bytes, up to which all steps of a limit may be made. For a longer
  /// value the limit is lower, in inverse proportion to the size: a step may read the whole value.
  static constexpr size_t kFullSize = 2'048;

  /// Parses and compiles an ECMAScript regular expression. Error `pattern.malformed` names the
  /// pattern, the character of the error, and what to write instead.
  static Result<std::shared_ptr<const Pattern>> compile(std::string_view ecmascript);

  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// Searches for the pattern in a value, as `RegExp.prototype.test` does. Precondition: the value
  /// is well-formed UTF-8. PCRE2 makes at most `steps` steps.
  Answer match(std::string_view value, uint32_t steps = kMatchLimit) const;

  bool matches(std::string_view value) const { return match(value) == Answer::kYes; }

  Kind kind() const { return kind_; }

  /// The text of kEquals, kPrefix, kSuffix and kContains; empty for the other kinds.
  const std::string& literal() const { return literal_; }

  /// The regular expression that RE2 runs. Precondition: the kind is kLinear.
  const std::string& re2() const;

 private:
  class Linear;
  class Backtracking;

  Pattern(Kind kind, std::string literal);

  Kind kind_;
  std::string literal_;
  std::unique_ptr<const Linear> linear_;
  std::unique_ptr<const Backtracking> backtracking_;
};

/// A pattern that matches exactly this text. It is a single atom, so it can stand anywhere in a
/// longer pattern: the results of `jq(…)` are inserted like this, so that they cannot make that
/// pattern match more.
std::string quote_pattern(std::string_view literal);

}  // namespace millrace
