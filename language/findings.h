// Findings: all that is wrong with a definition, each with its place, gathered in one pass. Whoever
// finds a mistake adds it here and goes on reading; the caller looks at has_errors() at the end.
// One thread.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace millrace {

/// A place in a text, both counted from 1; columns are characters (code points), not bytes.
struct Position {
  size_t line = 1;
  size_t column = 1;

  auto operator<=>(const Position&) const = default;
};

enum class Severity {
  kError,    ///< the definition is not taken
  kWarning,  ///< it is taken, but hardly does what was meant
  kNote,     ///< worth knowing
};

struct Finding {
  Severity severity = Severity::kError;
  std::string code;  ///< stable: `definition.unknown_key`
  std::string path;  ///< `states[3].events[0].context.source`; empty for the whole document
  Position at;
  /// One sentence in UTF-8 that does not repeat the path; of a warning and a note it ends with the
  /// mend.
  std::string message;
  /// What to do, as an instruction: `write "^a$"`, `remove this entry`. Empty for an error, whose
  /// message says it, and for a fact.
  std::string mend = {};

  bool operator==(const Finding&) const = default;
};

class Findings {
 public:
  /// So many are kept; the rest is only counted. A text of 1 MiB has room for many more mistakes
  /// than anybody reads.
  static constexpr size_t kMost = 1000;

  void error(std::string code, std::string path, Position at, std::string message);

  /// A doubt about a definition that can be used. Its message is `doubt` and `mend`, with a
  /// semicolon between them; the mend must not be empty.
  void warning(std::string code, std::string path, Position at, std::string_view doubt,
               std::string mend);
  void note(std::string code, std::string path, Position at, std::string_view doubt,
            std::string mend);

  /// A note that says how the text is read, such as the next ticks of a schedule: there is nothing
  /// to mend.
  void fact(std::string code, std::string path, Position at, std::string message);

  /// A finding of other findings.
  void add(Finding finding);

  /// Whether any error was added, kept or not: then nothing of the definition may be used.
  bool has_errors() const { return has_errors_; }
  bool has_warnings() const { return has_warnings_; }
  bool full() const { return findings_.size() >= kMost; }
  size_t omitted() const { return omitted_; }

  /// By position, then in the order of their adding; the same finding twice is one.
  std::vector<Finding> sorted() const;

 private:
  std::vector<Finding> findings_;
  size_t omitted_ = 0;
  bool has_errors_ = false;
  bool has_warnings_ = false;
};

/// A line for each: `file.yaml:12:7: error: states[3].timeout: … [definition.type]`.
std::string render_text(const Findings& findings, std::string_view file);

/// `{"errors":[{"path","line","column","message","code","severity"}]}`, all severities in it; with
/// `"omitted": n` when more than kMost were found.
Json to_json(const Findings& findings);

/// The path of a member: `states[3].id`; a key that is no plain word stands as `context["a b"]`.
std::string path_of(std::string_view parent, std::string_view key);

/// The path of an item, counted from 0: `states[3]`.
std::string path_of(std::string_view parent, size_t index);

/// The text in double quotes for a message: cut when long, control characters escaped.
std::string in_quotes(std::string_view text);

/// The candidate that `given` most likely was meant to be, by Damerau–Levenshtein distance without
/// regard to case: at most 1 for names up to 3 long, 2 up to 8, else a third of the length. The
/// first of equally near ones.
std::optional<std::string> likely(std::string_view given,
                                  const std::vector<std::string_view>& candidates);

/// `; did you mean "transition"?`, or nothing: to be put at the end of a message.
std::string did_you_mean(std::string_view given, const std::vector<std::string_view>& candidates);

/// The mend of a name that is not known: `did you mean "transition"? If not, remove this key`, or
/// `otherwise` where no candidate is near. `what` is what to remove.
std::string mend_of_name(std::string_view given, const std::vector<std::string_view>& candidates,
                         std::string_view what, std::string_view otherwise);

}  // namespace millrace
