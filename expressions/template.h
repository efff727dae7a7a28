// Fields of a workflow that may hold jq: text with `jq(…)` in it, or a program on its own. A
// Template is read once, when the workflow is loaded; running its programs is the caller's business
// (fast lane or workers), and `assemble` puts their results in place. Pure; immutable and cheap to
// copy, so any thread may use it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "expressions/fast_lane.h"

namespace millrace {

/// One jq program of a template.
struct Program {
  std::string text;
  std::shared_ptr<const FastProgram> fast;  ///< null: a worker has to run it
};

/// Errors: those of check_program_text. That it is valid jq is for the workers to check.
Result<Program> make_program(std::string_view text);

class Template {
 public:
  /// What the bare string `"."` is: text like any other, or (in the fields that the language calls
  /// a jq command) the whole input.
  enum class Dot { kLiteral, kIdentity };

  /// A piece of a string: literal text, or the place of a program's result.
  struct Part {
    std::string literal;
    std::optional<size_t> program;  ///< index into programs()

    bool operator==(const Part&) const = default;
  };

  /// The constant null.
  Template();

  /// Reads a value whose strings are literals but for the `jq(…)` in them: a string that is,
  /// trimmed, one `jq(…)` becomes its result with its type; within a longer string each `jq(…)`
  /// becomes text. Objects and arrays are read value by value, keys never. Errors:
  /// `jq.unterminated` (with the byte), and those of make_program.
  static Result<Template> literal_or_jq(const Json& value, Dot dot);

  /// Reads a field whose bare string is itself a jq program, such as `.x > 5`. A string with a
  /// `jq(…)`, and any value that is no string, is read as literal_or_jq does. Errors as there.
  static Result<Template> query(const Json& value);

  /// In the order in which they are evaluated, which is the order of the results for assemble.
  std::span<const Program> programs() const;

  bool is_constant() const { return programs().empty(); }

  /// The program if the whole value is one program's result, else null.
  const Program* whole() const;

  /// A template that is one string: its pieces in order, whole() being one piece. Empty for any
  /// other value.
  std::span<const Part> parts() const;

  /// The value with the results in place; one result for each program. In a longer string a string
  /// result stands as it is, any other as compact JSON.
  Json assemble(std::span<const Json> results) const;

 private:
  struct Tree;
  class Reader;
  explicit Template(std::shared_ptr<const Tree> tree);

  std::shared_ptr<const Tree> tree_;
};

}  // namespace millrace
