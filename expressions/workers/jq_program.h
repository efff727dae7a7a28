// libjq 1.6, held so that C++ code can use it: the only unit that includes jq.h. It runs in worker
// processes only, since libjq aborts, crashes and loops on some programs; one thread.
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

/// The exit code of a process in which libjq could get no more memory (see
/// exit_when_out_of_memory).
inline constexpr int kOutOfMemoryExit = 42;

/// Lets libjq end the process with kOutOfMemoryExit when it gets no memory, instead of aborting.
/// For the calling thread.
void exit_when_out_of_memory();

/// A JSON input, parsed once for all programs that run on it.
class JqInput {
 public:
  /// `json` is text that parse_json took. An input that jq does not take fails each program that
  /// is run on it.
  explicit JqInput(std::string_view json);
  ~JqInput();
  JqInput(const JqInput&) = delete;
  JqInput& operator=(const JqInput&) = delete;

 private:
  friend class JqProgram;
  struct Value;
  std::unique_ptr<Value> value_;
};

/// A compiled program in a closed world: no environment, files, modules, other inputs or clock.
class JqProgram {
 public:
  /// Errors: those of check_program_text; `jq.syntax` with what is wrong and where.
  static Result<JqProgram> compile(std::string_view program);

  /// Whether all of them compile, in one go. Errors: those of check_program_text; `jq.syntax`,
  /// which says as compile does what is wrong if it is one program, and does not name it among
  /// several.
  static Status check(std::span<const std::string> programs);

  ~JqProgram();
  JqProgram(JqProgram&&) noexcept;
  JqProgram& operator=(JqProgram&&) noexcept;

  /// The JSON text of the result; in mode kCondition `true` or `false`. `now` is what `now` yields.
  /// Integers past 2^53 have the digits of the input where only one literal of it can be meant.
  /// Error: direktiv.jq.badCommand.
  Result<std::string> run(const JqInput& input, TimePoint now, Query::Mode mode);

 private:
  struct State;
  explicit JqProgram(std::unique_ptr<State> state);
  /// Compiles a text as it is; else what libjq says of it, with places that are bytes of that text.
  static tl::expected<JqProgram, std::vector<JqComplaint>> compile_wrapped(const std::string& text);
  /// libjq's functions, whether they are open to programs or not.
  static const JqFunctions& functions();
  /// Whether all are right by jq's grammar, whatever their names stand for.
  static bool all_parse(std::span<const std::string> programs);

  std::unique_ptr<State> state_;
};

}  // namespace millrace
