// The workers as the rest of the program sees them: evaluations go in, results come back, whatever
// the programs do to the processes that run them. Submit may be called by any thread and never
// waits.
//
// There are a few fast workers for everybody. An evaluation that computes longer than a slice is
// taken from them and goes on in the one slow worker of its lane (a workflow), in line with the
// lane's other ones: so a program that never ends delays its own workflow only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "expressions/evaluation.h"
#include "expressions/workers/launcher.h"

namespace millrace {

class JqPool {
 public:
  struct Settings {
    size_t workers = 2;         ///< fast ones, started at once
    size_t slow_workers = 16;   ///< at most, as needed; lanes beyond that take turns
    Duration slice{100};        ///< of processor time for an evaluation on a fast worker
    Duration compiling{2'000};  ///< of processor time for the programs of one request
    /// So long after its last slow evaluation, a lane's next ones go straight to the slow worker.
    Duration probation{10'000};
    Duration idle{5'000};  ///< a slow worker without work is kept for so long
    /// How many compiles of one check may be under way, each on a fast worker: as many as there are
    /// leaves none for an evaluation.
    size_t checks_at_once = 1;
  };

  struct Stats {
    size_t waiting = 0;           ///< evaluations and checks handed in and not yet with a worker
    size_t running = 0;           ///< with a worker
    size_t ready_workers = 0;     ///< started, idle or not
    uint64_t started = 0;         ///< worker processes since the beginning
    uint64_t overran = 0;         ///< evaluations that ran over their slice
    uint64_t timed_out = 0;       ///< times that one reached its timeout, or a check its own
    uint64_t crashed = 0;         ///< workers that died of a program
    uint64_t start_failures = 0;  ///< workers that could not be started or died before any work
    std::string last_problem;     ///< of the last start failure or crash
  };

  using Done = std::function<void(uint64_t ticket, std::vector<QueryResult>)>;

  /// Error `jq.pool`: the system has no descriptor or thread left. That workers do not start is no
  /// error here: it is tried again with growing pauses (≤ 5 s), and `stats` tells. A launcher that
  /// ends is started again.
  static Result<std::unique_ptr<JqPool>> start(JqLauncher launcher, Settings settings);

  /// Kills the workers. Evaluations that are not done are dropped without a call of `done`; no call
  /// of check may be in progress.
  ~JqPool();
  JqPool(const JqPool&) = delete;
  JqPool& operator=(const JqPool&) = delete;

  /// Evaluates at least one query. `done` is called once, on the manager thread, and must be quick.
  /// Its results are those of the queries in order; the last may be millrace.timeout.task for the
  /// query that ran when the evaluation reached its timeout (twice, the second time on a fresh
  /// worker), or millrace.jq.memory or direktiv.jq.badCommand for the one that two workers died of:
  /// the queries after it have no result.
  void submit(uint64_t ticket, const Evaluation& evaluation, Done done);

  /// What is wrong with each program; nullopt: it is good. Waits for the answer, 20 s at most; not
  /// from `done`. Errors: those of check_program_text; `jq.syntax`; `jq.check_failed` for a program
  /// that a worker cannot compile, or that was among those that none could in time (the programs
  /// behind them are then not looked at, and fail too); `jq.unavailable` while no worker can be
  /// started.
  std::vector<std::optional<Error>> check(std::span<const std::string> programs);

  /// The same for JSON Schemas. Errors: `schema.malformed`; `schema.check_failed` for one that a
  /// worker cannot read, or not in time; `jq.unavailable`.
  std::vector<std::optional<Error>> check_schemas(std::span<const std::string> schemas);

  Stats stats() const;

 private:
  class Manager;
  struct Verdict;
  JqPool(std::unique_ptr<Manager> manager, size_t checks_at_once);

  std::future<Verdict> ask(std::string check);
  static Verdict await(std::future<Verdict>& answer,
                       std::chrono::steady_clock::time_point deadline);

  const size_t checks_at_once_;
  std::unique_ptr<Manager> manager_;
};

}  // namespace millrace
