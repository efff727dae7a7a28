// As much of jq's lexical syntax as it takes to know where a program ends. jq's own grammar pairs
// all brackets, so a text whose brackets pair here can be put between parentheses and cannot reach
// out of them.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// The longest program taken, in bytes: longer ones compile for seconds.
inline constexpr size_t kMaxProgramBytes = 4096;

/// Where reading jq text ended.
struct JqEnd {
  enum class Kind {
    kEnd,       ///< the text is over and everything is closed
    kOpen,      ///< the text is over within a bracket or a string that began at `at`
    kCloser,    ///< at `at` stands a closing bracket that nothing in the text opened
    kMismatch,  ///< at `at` stands a closing bracket of another kind than what is open
  };
  Kind kind;
  size_t at;
};

/// Reads jq text from byte `from` on, past strings (with the interpolations in them), comments and
/// pairs of brackets.
JqEnd scan_jq(std::string_view text, size_t from = 0);

/// What can be said of a program without jq. Errors: `jq.too_long`, `jq.empty`, `jq.malformed` (a
/// NUL byte), `jq.unbalanced` (brackets or quotes; names the byte).
Status check_program_text(std::string_view program);

}  // namespace millrace
