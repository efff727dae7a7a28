// Process: a child process of a test, with a process group of its own so that the test can check
// that the whole group has ended. The output of the child process is collected while it runs. Start
// a Process on the thread that runs the test: the kernel ends the child process together with the
// thread that started it.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "base/time.h"
#include "os/launch.h"
#include "tests/support/patience.h"

namespace millrace {

/// Waits until the condition holds; false after `at_most`.
bool eventually(const std::function<bool()>& condition, Duration at_most = kPatience);

/// Ids of the processes whose command line contains `text`, without zombies.
std::vector<pid_t> processes_with(std::string_view text);

/// Ids of the children of a process, without zombies.
std::vector<pid_t> children_of(pid_t parent);

struct ProcessSettings {
  std::vector<std::string> command;  ///< the program, searched for in PATH, and its arguments
  std::map<std::string, std::string> environment;  ///< added to the environment of the test
  std::string input;                               ///< the standard input of the program
  bool keeps_input_open = false;  ///< whether Process::write() continues the standard input
};

/// How a program ended.
struct ProcessEnd {
  int code = 0;  ///< as in a shell: 128 plus the signal that ended it
  std::string output;
  std::string errors;
};

class Process {
 public:
  explicit Process(const ProcessSettings& settings);
  /// Sends SIGKILL to the whole group.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return process_.pid; }

  /// Sends a signal to the program, not to its group.
  void signal(int number) const;

  /// Writes to the standard input of the program, which the settings keep open. False if the
  /// program has ended.
  bool write(std::string_view text) const;

  /// Waits for the end; returns the exit code, or nullopt if the program still runs.
  std::optional<int> wait(Duration at_most = kPatience);

  /// Waits until no process can write to the output of the program any more.
  void wait_for_streams();

  /// The standard output of the program so far.
  std::string output() const;
  std::string errors() const;

  /// Waits for a line of standard error with that text; nullopt if the program ended without it,
  /// or after kPatience.
  std::optional<std::string> error_line(std::string_view text);

  /// Waits for the end of all processes of the program's group; false if one of them still runs
  /// after kPatience.
  bool group_ends() const;

 private:
  struct Stream {
    Descriptor file;
    std::string text;
    bool ended = false;
  };

  void read(Stream& stream);

  LaunchedProcess process_;
  std::optional<int> code_;
  Descriptor input_;  ///< to the standard input of the program, if it is kept open
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Stream output_;
  Stream errors_;
  std::thread output_reader_;
  std::thread error_reader_;
};

/// Runs a program to its end.
ProcessEnd run_process(const ProcessSettings& settings);

}  // namespace millrace
