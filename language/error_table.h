// The table of all error codes, except those of findings about a store. A code never changes its
// meaning. docs/errors.md is made from the table, and the API takes the HTTP
// status of an error from it. A group has a file. Constants; for any thread.
#pragma once

#include <span>
#include <string_view>

namespace millrace {

struct ErrorEntry {
  std::string_view code;
  unsigned status;           ///< the HTTP status of an answer; 0: no answer has this error, except
                             ///< findings about a part of a definition in a request (422)
  std::string_view meaning;  ///< one sentence
  std::string_view action;   ///< what to do; one sentence
};

// The groups; each is sorted by code, and no code is in two of them.
std::span<const ErrorEntry> instance_errors();
std::span<const ErrorEntry> request_errors();
std::span<const ErrorEntry> program_errors();
std::span<const ErrorEntry> definition_errors();

/// The entry of a code; nullptr: the table does not have the code.
const ErrorEntry* find_error(std::string_view code);

}  // namespace millrace
