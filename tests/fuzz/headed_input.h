// The input of a fuzz target that has headers and a body, as a text that can be written by hand:
// lines `Name: value`, an empty line, and the body. Lines end with LF.
#pragma once

#include <string_view>

#include "cloudevents/headers.h"

namespace millrace::fuzz {

struct HeadedInput {
  Headers headers;  ///< a line without a colon is a name with an empty value
  std::string_view body;
};

/// Reads any bytes. The body is a view into `bytes`.
HeadedInput read_headed_input(std::string_view bytes);

/// Removes the first line from `bytes` and returns it without its LF.
std::string_view take_line(std::string_view& bytes);

}  // namespace millrace::fuzz
