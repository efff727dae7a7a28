// The launcher: a small process of ours that starts the workers, made before the program has any
// thread, data or connection, so that a worker descends from nothing worth seeing. JqLauncher is
// the program's handle of it, for one thread at a time. When the program ends, so does the
// launcher; when the launcher ends, so do the workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "os/descriptor.h"

namespace millrace {

class JqLauncher {
 public:
  /// What the launcher tells of a worker.
  struct Notice {
    enum class Kind : uint8_t {
      kStarted,     ///< `number` is its pid, `socket` our end of the one to it
      kNotStarted,  ///< `number` is the errno
      kEnded,       ///< `number` is its status as of waitpid
    };
    Kind kind = Kind::kEnded;
    uint32_t worker = 0;
    int number = 0;
    Descriptor socket;
  };

  /// Starts one from `program`: this very one, or another that calls run_as_jq_process. To be
  /// called first thing in main. Error: `jq.start`.
  static Result<JqLauncher> start(std::string program = "/proc/self/exe");

  /// Ends the launcher and all its workers, and waits for that.
  ~JqLauncher();
  JqLauncher(JqLauncher&& other) noexcept;
  JqLauncher& operator=(JqLauncher&&) = delete;

  const std::string& program() const { return program_; }

  /// Asks for a worker under a number of the caller's; a `background` one yields the processor to
  /// whoever else wants it. The answer is a notice. Error: `jq.launcher`, the launcher is gone.
  Status start_worker(uint32_t worker, bool background);

  /// Asks for the end of a worker; kEnded follows. Does nothing for one that has ended. Error:
  /// `jq.launcher`.
  Status kill_worker(uint32_t worker);

  /// Readable when there is a notice.
  int fd() const { return socket_.fd(); }

  /// The next notice, if there is one. Error: `jq.launcher`.
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
