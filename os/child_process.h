// ChildProcess: a program that runs as a child of this process. Only the thread that started the
// child may use the object, and that thread must live longer than the child: the kernel kills the
// child when that thread ends. Only the destructor blocks, briefly.
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
    std::vector<std::string> command;  ///< the path of the program, then its arguments
    /// See LaunchOptions::environment.
    std::optional<std::vector<std::string>> environment;
    std::string input;  ///< path of the file for standard input; empty: /dev/null
    /// Called within poll(): `output` with the bytes that the child wrote to standard output,
    /// `errors` with those that it wrote to standard error. Each function may be empty.
    std::function<void(std::string_view)> output;
    std::function<void(std::string_view)> errors;
  };

  /// Error `process.start`: no descriptors or processes are left, or `input` cannot be read; then
  /// no child was started. If the program cannot be executed, the child ends with exit code 127.
  static Result<std::unique_ptr<ChildProcess>> start(Start start);

  /// Kills the child with SIGKILL if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Appends the descriptors that the caller should wait for before the next poll().
  void wait_for(std::vector<pollfd>& list) const;

  /// Reads the available output. Returns the exit code, as a shell reports it, once the child has
  /// ended and its output was read; nullopt while it runs.
  std::optional<int> poll();

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
