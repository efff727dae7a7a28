// Explains the errors that libjq 1.6 reports for a jq program that does not compile, in plain
// English and with their place. libjq names tokens of its grammar, which mean nothing to an author
// (`$end`, `IDENT`), and shows the place only by the number of blanks after the line. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "expressions/jq_names.h"

namespace millrace {

/// One message of libjq's compiler.
struct JqComplaint {
  std::string what;  ///< `syntax error, unexpected '|'`, without the place
  /// The byte of the jq program that has the error; the program's size means its end.
  size_t at = 0;
};

/// Returns one sentence: what is wrong with the jq program, where, what was expected and what to
/// write instead. `complaints` are all messages of one compile, in libjq's order; `functions` are
/// those that the jq program may call. An unknown message is returned as libjq wrote it, with its
/// place.
std::string explain_complaints(std::span<const JqComplaint> complaints, std::string_view program,
                               const JqFunctions& functions);

}  // namespace millrace
