// Shell: the global flags, and the settings that follow from them and the environment. It does not
// depend on the verbs. For one thread only.
#pragma once

#include <initializer_list>
#include <string>

#include "cli/console.h"
#include "cli/session.h"

namespace millrace {

/// The global flags as they are given; empty: not given.
struct GlobalFlags {
  std::string url;
  std::string token_file;
  std::string ns;
  std::string format;
  bool is_stale = false;  ///< reads may be answered from the folder of a standby
};

class Shell {
 public:
  explicit Shell(Console& console) : console_(console) {}
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  Console& console() { return console_; }
  GlobalFlags& flags() { return flags_; }

  /// Returns the flag if it is given, else the first variable that is set and not empty, else
  /// `otherwise`.
  std::string setting(const std::string& flag, std::initializer_list<const char*> variables,
                      const std::string& otherwise = "") const;

  /// Makes a session with the server, namespace and format that the flags and the environment name.
  /// Exit kUsage: the token or the format is not valid. The first session that would send a token
  /// to another machine in plain text causes a warning on standard error.
  Fallible<Session> session();

  /// Says on standard error how old the answers are, if a server has answered from a copy.
  void show_age(const Session& session);

  /// Prints the failure, if the verb failed, on standard error; returns the exit code.
  int end(const Ended& ended);

 private:
  /// The token that the client sends; empty: none. Exit kUsage: it is not valid.
  Fallible<std::string> token() const;

  /// Warns, once, if requests to that URL cross a network in plain text.
  void warn_of_plain_text(const std::string& url);

  Console& console_;
  GlobalFlags flags_;
  bool has_warned_ = false;
};

}  // namespace millrace
