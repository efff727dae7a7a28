// The fast lane evaluates in process the part of jq that most workflows use: paths, literals,
// interpolated strings, object and array construction, `|`, `+`, `-`, comparisons, `and`, `or`,
// `not`, `//`, `length`. Its meaning is libjq 1.6's, errors and their messages included, up to the
// spelling of numbers; what it is not sure of it does not take. Pure; a FastProgram is immutable,
// so any thread may run it.
#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "expressions/evaluation.h"

namespace millrace {

namespace fast {
struct Program;
}

/// A program of the fast lane. Every such program has exactly one result, or an error.
class FastProgram {
 public:
  explicit FastProgram(std::unique_ptr<const fast::Program> program);
  ~FastProgram();
  FastProgram(const FastProgram&) = delete;
  FastProgram& operator=(const FastProgram&) = delete;

  /// Errors: direktiv.jq.badCommand; millrace.jq.memory for a value that is built beyond reason.
  QueryResult run(const Json& input) const;

  /// As run, without a copy of what exists: the result is a part of the input or of the program,
  /// or else it is `made`.
  Result<const Json*> look(const Json& input, Json& made) const;

 private:
  std::unique_ptr<const fast::Program> program_;
};

/// Null if the program is not for the fast lane: a worker has to run it (or to say what is wrong
/// with it).
std::shared_ptr<const FastProgram> compile_fast(std::string_view program);

}  // namespace millrace
