// error_message(): the error of an operation as a string, so that a comparison prints it.
#pragma once

#include <string>

#include "base/result.h"

namespace millrace {

/// The message of the error; empty: the operation succeeded.
template <class T>
std::string error_message(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace millrace
