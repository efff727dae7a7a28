// Containers as processes of the runtime's command line: a container that runs in the foreground,
// and the removal of containers of an earlier process. The command line gets the environment of
// runtime_environment.h. For one thread, see child_process.h.
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
    std::vector<std::string> command;  ///< `run …` of the container `name`, in the foreground
    std::string input;                 ///< path of the file for the standard input; empty: none
    std::function<void(std::string_view)> output;
    std::function<void(std::string_view)> errors;
  };

  /// Error `process.start`.
  static Result<std::unique_ptr<ContainerProcess>> start(Start start);

  void wait_for(std::vector<pollfd>& list) const;
  void poll();

  /// The container's exit code, once the container has ended without remove().
  std::optional<int> code() const { return code_; }
  /// Whether the `run` command has ended and the removal, if there was one, is finished.
  bool is_gone() const { return !client_ && !removal_; }
  /// The end of what the container wrote to its standard error, for messages.
  std::string last_errors() const;

  /// Kills and removes the container in the background.
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
  /// The result of the removal, once it has finished; nullopt: it has not finished. Error
  /// kFunctionUnavailable has the runtime's message.
  std::optional<Status> poll();

 private:
  Status begin(std::vector<std::string> command);

  std::string runtime_;
  Status started_;
  std::unique_ptr<ChildProcess> process_;
  std::string output_;
  std::string errors_;
  bool is_listed_ = false;
};

}  // namespace millrace
