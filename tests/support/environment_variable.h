// EnvironmentVariable: sets or clears an environment variable of this process, and restores it in
// the destructor. For tests with one thread.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace millrace {

class EnvironmentVariable {
 public:
  /// Sets the variable to `value`; nullopt clears the variable.
  EnvironmentVariable(std::string name, const std::optional<std::string>& value)
      : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  ~EnvironmentVariable() { set(before_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace millrace
