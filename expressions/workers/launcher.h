// The launcher: a small child process that starts the jq workers. The launcher is started before
// millrace has any thread, data or connection, so that a jq worker cannot inherit any of them.
// JqLauncher is the handle that millrace has for its launcher; one thread at a time may use it.
// When millrace ends, the launcher ends; when the launcher ends, the jq workers end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "os/descriptor.h"

namespace millrace {

/// The niceness that is added for jq workers: beside a busy thread of millrace, one gets about a
/// seventh of a processor, and a `background` one about 3 %. So evaluations do not take the
/// processor from the engine thread in the middle of a unit of work.
inline constexpr int kJqWorkerNiceness = 8;
inline constexpr int kBackgroundJqWorkerNiceness = 15;

class JqLauncher {
 public:
  /// A message of the launcher about one jq worker.
  struct Notice {
    enum class Kind : uint8_t {
      kStarted,     ///< `number` is the jq worker's pid, `socket` millrace's end of its socket
      kNotStarted,  ///< `number` is the errno
      kEnded,       ///< `number` is the jq worker's status from waitpid
    };
    Kind kind = Kind::kEnded;
    uint32_t worker = 0;
    int number = 0;
    Descriptor socket;
  };

  /// Starts a launcher from the executable `program`: that of this process, or another executable
  /// that calls run_as_jq_process. Call it first in main. Error: `jq.start`.
  static Result<JqLauncher> start(std::string program = "/proc/self/exe");

  /// Ends the launcher and all its jq workers, and waits until they have ended.
  ~JqLauncher();
  JqLauncher(JqLauncher&& other) noexcept;
  JqLauncher& operator=(JqLauncher&&) = delete;

  const std::string& program() const { return program_; }

  /// Requests a jq worker with a number that the caller chooses; a `background` jq worker has a low
  /// priority for the processor. The launcher answers with a notice: kStarted or kNotStarted.
  /// Error: `jq.launcher` if the launcher has ended.
  Status start_worker(uint32_t worker, bool background);

  /// Requests the end of a jq worker; the notice kEnded follows. Does nothing if the jq worker has
  /// ended already. Error: `jq.launcher`.
  Status kill_worker(uint32_t worker);

  /// A descriptor that is readable when there is a notice.
  int fd() const { return socket_.fd(); }

  /// The next notice; nullopt if there is none yet. Error: `jq.launcher`.
  Result<std::optional<Notice>> next();

 private:
  JqLauncher(std::string program, pid_t pid, Descriptor socket)
      : program_(std::move(program)), pid_(pid), socket_(std::move(socket)) {}

  std::string program_;
  pid_t pid_;
  Descriptor socket_;
};

/// The launcher's main function; returns the exit code of the process.
int run_jq_launcher(Descriptor program);

}  // namespace millrace
