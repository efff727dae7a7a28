// JqPool: the interface to the jq workers. Evaluations go in and results come back, even if a jq
// program crashes the process that runs it. submit() may be called by any thread and never waits.
//
// A few fast jq workers serve all workflows; the namespaces, and in a namespace its workflows, take
// turns. An evaluation that computes longer than a slice is moved to the one slow jq worker of its
// lane (a lane is a workflow), where it waits in a queue behind the lane's other slow evaluations.
// A namespace uses at most about a quarter of the slow jq workers, and never all that are free. So
// a jq program that never ends delays its own workflow, and many of them delay only slow
// evaluations of their own namespace.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "expressions/evaluation.h"
#include "expressions/workers/evaluation_loads.h"
#include "expressions/workers/launcher.h"

namespace millrace {

class JqPool {
 public:
  struct Settings {
    size_t workers = 2;  ///< fast jq workers, which are started at once
    /// The most slow jq workers, which are started as needed; if more lanes need one, their
    /// namespaces take turns, and in a namespace its lanes. A namespace that has one gets another
    /// one only while it has fewer than a third of the free ones.
    size_t slow_workers = 16;
    Duration slice{100};  ///< the most processor time of an evaluation on a fast jq worker
    /// The most processor time to compile the jq programs of one request.
    Duration compiling{2'000};
    /// For this long after a lane's last slow evaluation, its evaluations go directly to its slow
    /// jq worker.
    Duration probation{10'000};
    Duration idle{5'000};  ///< a slow jq worker without work is ended after this time
    /// How many compiles of one check may run at the same time, each on a fast jq worker. With as
    /// many compiles as fast jq workers, no fast jq worker is left for evaluations.
    size_t checks_at_once = 1;
    /// Slices, timeouts and `compiling` are processor time, so that a jq program does not count as
    /// slow because the machine is busy. In wall-clock time, each ends after this many times its
    /// length.
    int most_waiting = 10;
    Duration start_timeout{10'000};  ///< within this time a new jq worker must be ready
    /// An evaluation that takes no longer is quick; those of lanes that were quick share a round
    /// trip.
    std::chrono::microseconds quick{1'000};
  };

  struct Stats {
    size_t waiting = 0;        ///< evaluations and checks that are not with a jq worker yet
    size_t running = 0;        ///< evaluations and checks that are with a jq worker
    size_t ready_workers = 0;  ///< jq workers that have started, idle or not
    uint64_t started = 0;      ///< jq worker processes started since the pool started
    uint64_t overran = 0;      ///< evaluations that exceeded their slice
    uint64_t timed_out = 0;    ///< how often an evaluation or a check reached its timeout
    uint64_t crashed = 0;      ///< jq workers that a jq program crashed
    /// Failed starts of the launcher or of a jq worker, and jq workers that ended while they had no
    /// job.
    uint64_t start_failures = 0;
    std::string last_problem;  ///< the message of the latest start failure or crash
    /// The evaluations by Evaluation::space, without the checks; only namespaces that have some.
    std::map<uint64_t, PoolLoad> spaces;
  };

  using Done = std::function<void(uint64_t ticket, std::vector<QueryResult>)>;

  /// How long check() and check_schemas() wait if their caller does not say how long.
  static constexpr Duration kCheckTime{20'000};

  /// Starts the pool. Error `jq.pool`: the system has no descriptor or thread left. A jq worker
  /// that does not start is not an error here: the start is repeated after growing pauses (≤ 5 s),
  /// and `stats` counts it. A launcher that ends is started again.
  static Result<std::unique_ptr<JqPool>> start(JqLauncher launcher, Settings settings);

  /// Kills the jq workers. Unfinished evaluations are dropped without a call of `done`.
  /// Precondition: no call of check() or check_schemas() is running.
  ~JqPool();
  JqPool(const JqPool&) = delete;
  JqPool& operator=(const JqPool&) = delete;

  /// Submits an evaluation with at least one query. `done` is called once, on the jq-pool thread,
  /// and must be quick. `done` gets the results of the queries, in order. The last result may be
  /// the error of the query that ended the evaluation; the queries after that one have no result.
  /// The error is millrace.timeout.task if the query was running when the evaluation reached its
  /// timeout for the second time (on a new jq worker), and millrace.jq.memory or
  /// direktiv.jq.badCommand if the query ended two jq workers. The error is direktiv.jq.badCommand
  /// or direktiv.schema.failed if `evaluation.stop` requested the end; an evaluation on a fast jq
  /// worker may still reach its own end, within its slice. The inputs are not copied by submit().
  void submit(uint64_t ticket, Evaluation evaluation, Done done);

  /// Checks jq programs. Returns for each jq program nullopt if it is valid, otherwise its error.
  /// Waits for the results, `at_most`; must not be called from `done`. Errors: those of
  /// check_program_text; `jq.syntax`; `jq.check_failed` for a jq program that a jq worker cannot
  /// compile, for jq programs whose common compile takes too long, and for all jq programs after
  /// these, which are then not checked; `jq.unavailable` while no jq worker can be started.
  std::vector<std::optional<Error>> check(std::span<const std::string> programs,
                                          Duration at_most = kCheckTime);

  /// Checks JSON Schemas. Returns for each schema nullopt if it is valid, otherwise its error.
  /// Waits like check(). Errors: `schema.malformed`; `schema.check_failed` for a schema that a jq
  /// worker cannot compile, or not in time; `jq.unavailable`.
  std::vector<std::optional<Error>> check_schemas(std::span<const std::string> schemas,
                                                  Duration at_most = kCheckTime);

  Stats stats() const;

 private:
  class Scheduler;
  struct Verdict;
  JqPool(std::unique_ptr<Scheduler> scheduler, const Settings& settings);

  std::future<Verdict> ask(std::string check);
  static Verdict await(std::future<Verdict>& answer,
                       std::chrono::steady_clock::time_point deadline);

  const size_t checks_at_once_;
  const int most_waiting_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace millrace
