// CHECK: stops the process at a bug, in release builds too. CHECK is for conditions that are false
// only if this program has a bug. Bad input of any kind is reported by a Result (result.h), never
// by a CHECK.
#pragma once

#include <string>

#include <fmt/format.h>

namespace millrace {

/// Prints `file:line: CHECK(condition) failed: detail` to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& detail);

}  // namespace millrace

/// Two forms: CHECK(condition), or with a detail for the message: CHECK(condition, "fmt {}",
/// argument…).
#define CHECK(condition, ...)                                                                  \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::millrace::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
