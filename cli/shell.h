// Shell: the flags that every verb takes, and what they mean together with the environment. It does
// not know the verbs. One thread.
#pragma once

#include <initializer_list>
#include <string>

#include "cli/console.h"
#include "cli/session.h"

namespace millrace {

/// As they were given; empty: not at all.
struct GlobalFlags {
  std::string url;
  std::string token_file;
  std::string ns;
  std::string format;
};

class Shell {
 public:
  explicit Shell(Console& console) : console_(console) {}
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  Console& console() { return console_; }
  GlobalFlags& flags() { return flags_; }

  /// A flag, else the first of the variables that is set, else `otherwise`.
  std::string setting(const std::string& flag, std::initializer_list<const char*> variables,
                      const std::string& otherwise = "") const;

  /// The server, namespace and format that the flags and the environment name. Exit kUsage: a token
  /// or a format cannot be used.
  Fallible<Session> session();

  /// Shows how a verb ended, on standard error where it failed; the exit code.
  int end(const Ended& ended);

 private:
  /// The token that the client shows; empty: none.
  Fallible<std::string> token() const;

  Console& console_;
  GlobalFlags flags_;
};

}  // namespace millrace
