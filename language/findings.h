// Findings: all mistakes of a definition with their positions, collected in one pass. Code that
// finds a mistake adds it here and continues reading; the caller checks has_errors() at the end.
// For use by one thread.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace millrace {

/// A position in a text. Line and column are counted from 1; columns are characters (code points),
/// not bytes.
struct Position {
  size_t line = 1;
  size_t column = 1;

  auto operator<=>(const Position&) const = default;
};

enum class Severity {
  kError,    ///< the definition is rejected
  kWarning,  ///< the definition is accepted, but probably does not do what was intended
  kNote,     ///< information
};

struct Finding {
  Severity severity = Severity::kError;
  std::string code;  ///< stable: `definition.unknown_key`
  std::string path;  ///< `states[3].events[0].context.source`; empty for the whole document
  Position at;
  /// One sentence in UTF-8 that does not repeat the path. The message of a warning or note ends
  /// with the mend.
  std::string message;
  /// The correction, as an instruction: `write "^a$"`, `remove this entry`. Empty for an error,
  /// whose message contains the correction, and for a fact.
  std::string mend = {};

  bool operator==(const Finding&) const = default;
};

class Findings {
 public:
  /// The maximum number of findings that are stored; further ones are only counted. A text of 1 MiB
  /// can have many more mistakes than a person would read.
  static constexpr size_t kMost = 1000;

  void error(std::string code, std::string path, Position at, std::string message);

  /// Adds a warning about a definition that can be used. The message of the warning is `doubt` and
  /// `mend`, with a semicolon between them. `mend` must not be empty.
  void warning(std::string code, std::string path, Position at, std::string_view doubt,
               std::string mend);
  /// Adds a note with a correction. `doubt` and `mend` form the message as in warning().
  void note(std::string code, std::string path, Position at, std::string_view doubt,
            std::string mend);

  /// Adds a note without a correction: how the text is understood, such as the next ticks of a
  /// schedule.
  void fact(std::string code, std::string path, Position at, std::string message);

  /// Adds a finding that another Findings object has.
  void add(Finding finding);

  /// Whether any error was added, stored or only counted. If so, no part of the definition may be
  /// used.
  bool has_errors() const { return has_errors_; }
  bool has_warnings() const { return has_warnings_; }
  bool full() const { return findings_.size() >= kMost; }
  size_t omitted() const { return omitted_; }

  /// The stored findings, sorted by position, then by the order of adding, without repetitions.
  std::vector<Finding> sorted() const;

 private:
  std::vector<Finding> findings_;
  size_t omitted_ = 0;
  bool has_errors_ = false;
  bool has_warnings_ = false;
};

/// One line for each finding: `file.yaml:12:7: error: states[3].timeout: … [definition.type]`.
std::string render_text(const Findings& findings, std::string_view file);

/// `{"errors":[{"path","line","column","message","code","severity"}]}`, with findings of all
/// severities, and with `"omitted": n` if there were more than kMost.
Json to_json(const Findings& findings);

/// The path of a member: `states[3].id`. A key that is not a plain word is quoted:
/// `context["a b"]`.
std::string path_of(std::string_view parent, std::string_view key);

/// The path of an item, counted from 0: `states[3]`.
std::string path_of(std::string_view parent, size_t index);

/// The text in double quotes for a message: cut when long, control characters escaped.
std::string in_quotes(std::string_view text);

/// The candidate nearest to `given` by Damerau–Levenshtein distance, ignoring case. The distance
/// is at most 1 for names of up to 3 characters, 2 for up to 8, else a third of the length. If
/// several candidates are equally near, the first one.
std::optional<std::string> likely(std::string_view given,
                                  const std::vector<std::string_view>& candidates);

/// A text to append to a message: `; did you mean "transition"?`, or empty if no candidate is near.
std::string did_you_mean(std::string_view given, const std::vector<std::string_view>& candidates);

/// The correction for an unknown name: `did you mean "transition"? If not, remove this key`, or
/// `otherwise` if no candidate is near. `what` names the thing to remove: `this key`.
std::string mend_of_name(std::string_view given, const std::vector<std::string_view>& candidates,
                         std::string_view what, std::string_view otherwise);

}  // namespace millrace
