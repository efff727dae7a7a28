// JqProgram: a C++ interface to libjq 1.6. jq_program.cc is the only file that includes jq.h. This
// code runs in jq worker processes only, since libjq aborts, crashes or loops on some jq programs.
// For use by one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "expressions/jq_complaints.h"
#include "expressions/jq_names.h"

namespace millrace {

/// The exit code of a process in which libjq could not allocate memory (see
/// exit_when_out_of_memory).
inline constexpr int kOutOfMemoryExit = 42;

/// Makes libjq end the process with kOutOfMemoryExit when it cannot allocate memory, instead of
/// aborting. Applies to the calling thread.
void exit_when_out_of_memory();

/// A JSON input, parsed once for all jq programs that run on it.
class JqInput {
 public:
  /// Precondition: parse_json accepted the text `json`. If jq does not accept it, each jq program
  /// that runs on it fails.
  explicit JqInput(std::string_view json);
  ~JqInput();
  JqInput(const JqInput&) = delete;
  JqInput& operator=(const JqInput&) = delete;

 private:
  friend class JqProgram;
  struct Value;
  std::unique_ptr<Value> value_;
};

/// A compiled jq program in a closed world: it cannot reach the environment, files, modules, other
/// inputs or the clock.
class JqProgram {
 public:
  /// Compiles a jq program. Errors: those of check_program_text; `jq.syntax`, whose message says
  /// what is wrong and where.
  static Result<JqProgram> compile(std::string_view program);

  /// Checks in one compile whether all jq programs compile. Errors: those of check_program_text;
  /// `jq.syntax`, whose message is that of compile() for a single jq program, and does not name the
  /// program if there are several.
  static Status check(std::span<const std::string> programs);

  ~JqProgram();
  JqProgram(JqProgram&&) noexcept;
  JqProgram& operator=(JqProgram&&) noexcept;

  /// Runs the jq program. Returns the JSON text of the result, with sorted keys; in mode kCondition
  /// `true` or `false`. `now` is the result of jq's `now`; `instance` is JSON text, the value of
  /// `$instance`, or empty: then `$instance` is null. Integers above 2^53 that passed through
  /// unchanged keep the digits that they have in the input. Error: direktiv.jq.badCommand.
  Result<std::string> run(const JqInput& input, TimePoint now, Query::Mode mode,
                          std::string_view instance = {});

 private:
  struct State;
  explicit JqProgram(std::unique_ptr<State> state);
  /// Compiles a text without a wrapper. On failure returns libjq's messages; their places are bytes
  /// of that text.
  static tl::expected<JqProgram, std::vector<JqComplaint>> compile_wrapped(const std::string& text);
  /// All functions of libjq, including those that jq programs may not use.
  static const JqFunctions& functions();
  /// Whether all jq programs are valid by jq's grammar, even if names in them do not exist.
  static bool all_parse(std::span<const std::string> programs);

  std::unique_ptr<State> state_;
  bool names_instance_ = false;
};

}  // namespace millrace
