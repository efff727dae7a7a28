// Process: a program that a test runs as a child, with a process group of its own so that the test
// can tell whether anything of it is left. What it writes is gathered while it runs. Start it on
// the thread that runs the test: the kernel ends the child with the thread that started it.
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

namespace millrace {

/// Asks until the condition holds; false: it did not within `at_most`.
bool eventually(const std::function<bool()>& condition, Duration at_most = Duration(30'000));

/// Ids of the processes whose command line contains `text`; zombies are none.
std::vector<pid_t> processes_with(std::string_view text);

/// Ids of the processes that this one has started; zombies are none.
std::vector<pid_t> children_of(pid_t parent);

struct ProcessSettings {
  std::vector<std::string> command;                ///< the program is looked for in PATH
  std::map<std::string, std::string> environment;  ///< over that of the test
  std::string input;                               ///< its standard input
};

/// How a program ended.
struct ProcessEnd {
  int code = 0;  ///< as a shell has it: 128 and the signal that ended it
  std::string output;
  std::string errors;
};

class Process {
 public:
  explicit Process(const ProcessSettings& settings);
  /// SIGKILL for the whole group.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return process_.pid; }

  /// To the program alone, not to its group.
  void signal(int number) const;

  /// The exit code once it has ended; nullopt: it runs on.
  std::optional<int> wait(Duration at_most = Duration(30'000));

  /// Waits until nothing can write to its output any more.
  void wait_for_streams();

  /// What it has written by now.
  std::string output() const;
  std::string errors() const;

  /// The first line of standard error with that text in it; nullopt when it ended or went on for
  /// half a minute without.
  std::optional<std::string> error_line(std::string_view text);

  /// Whether all processes of its group are gone soon.
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
