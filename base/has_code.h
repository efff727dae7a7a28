// Whether an error is one of several. Pure.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/result.h"

namespace millrace {

inline bool has_code(const Error& error, std::initializer_list<std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), error.code) != codes.end();
}

}  // namespace millrace
