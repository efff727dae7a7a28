// Template: a field of a workflow that may contain jq: text with `jq(…)` in it, or a jq program of
// its own. A Template is parsed once, when the workflow is loaded. The caller runs its jq programs
// (fast lane or jq workers), and `assemble` puts the results into the value. Pure; immutable and
// cheap to copy, so any thread may use it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "expressions/evaluation.h"
#include "expressions/fast_lane.h"

namespace millrace {

/// One jq program of a template.
struct Program {
  std::string text;
  std::shared_ptr<const FastProgram> fast;  ///< null: a jq worker has to run it
  bool names_instance = false;              ///< see instance_name.h
};

/// Makes a jq program. Errors: those of check_program_text. Only a jq worker can check whether it
/// is valid jq.
Result<Program> make_program(std::string_view text);

class Template {
 public:
  /// The meaning of a string that is only `"."`: text like any other, or, in fields that the
  /// language calls a jq command, the whole input.
  enum class Dot { kLiteral, kIdentity };

  /// A part of a string: literal text, or the place of a jq program's result.
  struct Part {
    std::string literal;
    std::optional<size_t> program;  ///< index into programs()

    bool operator==(const Part&) const = default;
  };

  /// A template of the constant null.
  Template();

  /// Parses a value whose strings are literals except for the `jq(…)` in them. A string that,
  /// trimmed, is one `jq(…)` becomes the result, with its type; in a longer string, each `jq(…)`
  /// becomes text. Objects and arrays are parsed value by value; keys are never parsed. Errors:
  /// `jq.unterminated` and `jq.unbalanced` (with the place), and those of make_program.
  static Result<Template> literal_or_jq(const Json& value, Dot dot);

  /// Parses a field whose bare string is itself a jq program, such as `.x > 5`. A string with a
  /// `jq(…)` in it, and a value that is not a string, is parsed as by literal_or_jq. Errors: those
  /// of literal_or_jq.
  static Result<Template> query(const Json& value);

  /// The jq programs, in the order in which they are evaluated; assemble() expects the results in
  /// this order.
  std::span<const Program> programs() const;

  /// Whether a jq program of the template names `$instance`.
  bool names_instance() const;

  bool is_constant() const { return programs().empty(); }

  /// The jq program if the template's value is the result of one program; otherwise null.
  const Program* whole() const;

  /// The parts of a template that is one string, in order; a template with a whole() jq program has
  /// one part. Empty for any other value.
  std::span<const Part> parts() const;

  /// The value with the results inserted. Precondition: one result for each jq program. In a longer
  /// string, a string result is inserted as it is, any other result as compact JSON. A large value
  /// is made as text, without a tree.
  LazyJson assemble(std::span<const LazyJson> results) const;

  /// The value over the input if the fast lane can run all jq programs and they copy, compare and
  /// write at most `bytes` bytes, parts of the input in the result included; otherwise nullopt
  /// (FastProgram::run_within). Errors: direktiv.jq.badCommand.
  std::optional<QueryResult> run_within(const LazyJson& input, size_t bytes,
                                        const Bindings* bindings = nullptr) const;

 private:
  struct Tree;
  class Reader;
  explicit Template(std::shared_ptr<const Tree> tree);

  std::shared_ptr<const Tree> tree_;
};

}  // namespace millrace
