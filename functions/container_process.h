// Containers as processes of the runtime's command line: one that runs in the foreground until it
// is gone, and what an earlier process has left behind. For one thread, see child_process.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "base/result.h"
#include "os/child_process.h"

namespace millrace {

class ContainerProcess {
 public:
  struct Start {
    std::string runtime;
    std::string name;
    std::vector<std::string> command;  ///< `run` of that name, in the foreground
    std::string input;                 ///< the file that it reads; empty: nothing
    std::function<void(std::string_view)> output;
    std::function<void(std::string_view)> errors;
  };

  /// Error `process.start`.
  static Result<std::unique_ptr<ContainerProcess>> start(Start start);

  void wait_for(std::vector<pollfd>& list) const;
  void look();

  /// Its exit code, once it has ended by itself.
  std::optional<int> code() const { return code_; }
  /// Whether nothing of it is left, by itself or by remove().
  bool is_gone() const { return !client_ && !removal_; }
  /// The end of what it wrote to the standard error, for messages.
  std::string last_errors() const;

  /// Kills it, whatever it does, in the background.
  void remove();

 private:
  ContainerProcess() = default;

  std::string runtime_;
  std::string name_;
  std::unique_ptr<ChildProcess> client_;
  std::unique_ptr<ChildProcess> removal_;
  std::optional<int> code_;
  std::string errors_;
};

/// Finds all containers of a data folder, running or not, and kills and removes them.
class LeftoverRemoval {
 public:
  LeftoverRemoval(std::string runtime, std::string data_id);

  void wait_for(std::vector<pollfd>& list) const;
  /// How it went, once it is done. Error kFunctionUnavailable: with what the runtime says.
  std::optional<Status> look();

 private:
  Status begin(std::vector<std::string> command);

  std::string runtime_;
  Status begun_;
  std::unique_ptr<ChildProcess> process_;
  std::string output_;
  std::string errors_;
  bool is_listed_ = false;
};

}  // namespace millrace
