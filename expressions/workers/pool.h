// The workers as the rest of the program sees them: evaluations go in, results come back, whatever
// the programs do to the processes that run them. One manager thread owns all processes; submit may
// be called by any thread and never waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "expressions/evaluation.h"

namespace millrace {

class JqPool {
 public:
  struct Settings {
    /// A path and arguments that end in run_jq_worker(kJqWorkerFd), e.g. /proc/self/exe and the
    /// name of a hidden verb.
    std::vector<std::string> command;
    size_t workers = 2;
  };

  struct Stats {
    size_t waiting = 0;           ///< evaluations and checks handed in and not yet with a worker
    size_t running = 0;           ///< with a worker
    size_t ready_workers = 0;     ///< started, idle or not
    uint64_t started = 0;         ///< worker processes since the beginning
    uint64_t timed_out = 0;       ///< evaluations whose worker was killed at the deadline
    uint64_t crashed = 0;         ///< workers that died of a program
    uint64_t start_failures = 0;  ///< workers that could not be started or died before any work
    std::string last_problem;     ///< of the last start failure or crash
  };

  using Done = std::function<void(uint64_t ticket, std::vector<QueryResult>)>;

  /// Error `jq.pool`: the system has no descriptor or thread left. That workers do not start is no
  /// error here: it is tried again with growing pauses (≤ 5 s), and `stats` tells.
  static Result<std::unique_ptr<JqPool>> start(Settings settings);

  /// Kills the workers. Evaluations that are not done are dropped without a call of `done`; no call
  /// of check may be in progress.
  ~JqPool();
  JqPool(const JqPool&) = delete;
  JqPool& operator=(const JqPool&) = delete;

  /// Evaluates at least one query, in the order of submission, as workers become free. `done` is
  /// called once, on the manager thread, and must be quick. Its results are those of the queries in
  /// order; the last may be millrace.timeout.task for the query that ran at the deadline, or (after
  /// a second try on a fresh worker) millrace.jq.memory or direktiv.jq.badCommand for the one that
  /// its worker died of: the queries after it have no result.
  void submit(uint64_t ticket, const Evaluation& evaluation, Done done);

  /// What is wrong with each program; nullopt: it is good. Waits for the answer; not from `done`.
  /// Errors: those of check_program_text; `jq.syntax`; `jq.check_failed` for a program that a
  /// worker cannot compile in time or at all; `jq.unavailable` while no worker can be started.
  std::vector<std::optional<Error>> check(std::span<const std::string> programs);

  Stats stats() const;

 private:
  class Manager;
  explicit JqPool(std::unique_ptr<Manager> manager);

  std::unique_ptr<Manager> manager_;
};

}  // namespace millrace
