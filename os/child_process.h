// ChildProcess: a program that runs beside us, for one thread, which must live as long: the kernel
// ends the child with the thread that started it. Nothing blocks but the destructor, briefly.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>

#include "base/result.h"
#include "os/descriptor.h"
#include "os/launch.h"

namespace millrace {

class ChildProcess {
 public:
  struct Start {
    std::vector<std::string> command;  ///< the first is a path
    std::string input;                 ///< the file that it reads; empty: nothing
    /// Told of what it writes, within look(); either may be empty.
    std::function<void(std::string_view)> output;
    std::function<void(std::string_view)> errors;
  };

  /// Error `process.start`: no descriptors or processes are left, or `input` cannot be read; then
  /// nothing of it runs. A program that can't be run ends with code 127.
  static Result<std::unique_ptr<ChildProcess>> start(Start start);

  /// SIGKILL, if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// What to wait for before the next look.
  void wait_for(std::vector<pollfd>& list) const;

  /// Reads what it has written. Once it has ended and all is read: its exit code, as a shell has
  /// it.
  std::optional<int> look();

 private:
  struct Stream {
    Descriptor file;
    std::function<void(std::string_view)> heard;

    void read();
  };

  explicit ChildProcess(LaunchedProcess process) : process_(std::move(process)) {}

  LaunchedProcess process_;
  Stream output_;
  Stream errors_;
  std::optional<int> code_;
};

}  // namespace millrace
