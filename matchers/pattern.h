// One compiled pattern. Most patterns are no regular expression at all: plain text, anchored or
// not, is compared as text; the rest runs on RE2 in linear time, or, for look-around and
// back-references, on PCRE2 with a limit. Immutable; any number of threads may match at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

class Pattern {
 public:
  enum class Kind {
    kAny,           ///< every text matches
    kEquals,        ///< is `literal()`
    kPrefix,        ///< begins with `literal()`
    kSuffix,        ///< ends with `literal()`
    kContains,      ///< contains `literal()`
    kLinear,        ///< RE2
    kBacktracking,  ///< PCRE2: look-around, back-references, or too large for RE2
  };

  enum class Answer {
    kNo,
    kYes,
    kOverLimit,  ///< PCRE2 gave up after kMatchLimit steps on the value: no match, to be counted
  };

  /// The steps (PCRE2's match limit) that one value may take.
  static constexpr uint32_t kMatchLimit = 10'000;

  /// Reads and compiles an ECMAScript regular expression. Error `pattern.malformed` names the
  /// pattern, where it stopped, and what to write instead.
  static Result<std::shared_ptr<const Pattern>> compile(std::string_view ecmascript);

  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// Searches a value of well-formed UTF-8, as `RegExp.prototype.test` does.
  Answer match(std::string_view value) const;

  bool matches(std::string_view value) const { return match(value) == Answer::kYes; }

  Kind kind() const { return kind_; }

  /// The text of kEquals, kPrefix, kSuffix and kContains; else empty.
  const std::string& literal() const { return literal_; }

  /// What RE2 runs, of kLinear.
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

/// The pattern that matches just this text, one atom wherever an atom may stand in a longer
/// pattern: how the results of `jq(…)` get into one without widening it.
std::string quote_pattern(std::string_view literal);

}  // namespace millrace
