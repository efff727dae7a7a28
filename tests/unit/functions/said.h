// What an operation said, for comparisons that show it.
#pragma once

#include <string>

#include "base/result.h"

namespace millrace {

/// The message of the error; empty: it went well.
template <class T>
std::string said(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace millrace
