// The fast lane evaluates in the process the part of jq that most workflows use: paths, literals,
// interpolated strings, object and array construction, `|`, `+`, `-`, comparisons, `and`, `or`,
// `not`, `//`, `length`, `now`, `$instance`. The fast lane has the results of libjq 1.6, including
// errors and their messages, except for the spelling of numbers. A jq program that may give a
// different result is refused. Pure; a FastProgram is immutable, so any thread may run it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/lazy_json.h"
#include "expressions/evaluation.h"

namespace millrace {

namespace fast {
struct Program;
}

/// A jq program that the fast lane can run. Such a program has exactly one result, or an error.
class FastProgram {
 public:
  explicit FastProgram(std::unique_ptr<const fast::Program> program);
  ~FastProgram();
  FastProgram(const FastProgram&) = delete;
  FastProgram& operator=(const FastProgram&) = delete;

  /// Runs the jq program. Errors: direktiv.jq.badCommand; millrace.jq.memory if the jq program
  /// builds a value that is far too large.
  Result<Json> run(const Json& input, const Bindings& bindings = {}) const;

  /// Runs the jq program with a bound: it may copy, compare and write at most `left` bytes, from
  /// which the bytes of the run are subtracted. nullopt if that is not enough, or if the input is
  /// large and the jq program is not `.`: then a jq worker has to run it. The same applies to a jq
  /// program that names a value of `bindings` if `bindings` is null, or if that value is large. The
  /// answer depends on the values only, so it is the same whenever the run is repeated. A result
  /// that is a part of the input is not copied; if `counts_parts`, its bytes are subtracted too.
  /// Errors: direktiv.jq.badCommand.
  std::optional<Result<LazyJson>> run_within(const LazyJson& input, size_t& left, bool counts_parts,
                                             const Bindings* bindings = nullptr) const;

  /// Runs the jq program like run(), but copies no existing value of the input: the result points
  /// into the input, into the program, or to `made`, which holds a value that had to be made.
  Result<const Json*> select(const Json& input, Json& made, const Bindings& bindings = {}) const;

 private:
  struct Bound;
  Result<const Json*> select(const Json& input, Json& made, const Bindings& bindings,
                             Bound& bound) const;

  std::unique_ptr<const fast::Program> program_;
};

/// Compiles a jq program for the fast lane. Null if the fast lane cannot run it: then a jq worker
/// has to run it, or to report its errors.
std::shared_ptr<const FastProgram> compile_fast(std::string_view program);

}  // namespace millrace
