// What libjq 1.6 says against a program that it does not compile, in plain English and with its
// place. libjq names the tokens of its grammar, some of them wrongly for an author (`$end`,
// `IDENT`), and the place only as a number of blanks behind the line. Pure.
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
  size_t at = 0;     ///< the byte of the program that it is about; the program's size: its end
};

/// One sentence that says what is wrong with the program, where, what was expected and what to
/// write instead. `complaints` are all that libjq made of one compile, in their order; `functions`
/// those that the program may call. A message that is not known is passed on with its place.
std::string explain_complaints(std::span<const JqComplaint> complaints, std::string_view program,
                               const JqFunctions& functions);

}  // namespace millrace
