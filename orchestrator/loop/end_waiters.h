// EndWaiters: the callers that wait for the end of an instance, and how long each waits. Engine
// thread only.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/work.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class EndWaiters {
 public:
  EndWaiters(const Environment& environment, const Catalog& catalog)
      : environment_(environment), catalog_(catalog) {}

  /// Answers those at once whose instance has ended, or is not there, as of the last commit. Reads
  /// a snapshot: a failed read of the batches' transaction would lose the next batch. `elapsed`
  /// here and below is Clock::elapsed().
  void add(std::vector<EndWaiter> waiters, Duration elapsed);
  /// The instance has ended, and that is on disk.
  void on_end(const InstanceId& id);
  /// Answers those whose time is over with `wait.timeout`.
  void expire(Duration elapsed);
  /// When the next of them is over; nullopt: none waits.
  std::optional<Duration> next_deadline() const;
  /// How each that still waits is refused; none waits any more.
  std::vector<Refuse> abandoned();

 private:
  using ByDeadline = std::multimap<Duration, EndWaiter>;

  /// Whether its instance has not ended.
  Result<bool> is_active(const View& committed, const EndWaiter& waiter) const;

  const Environment& environment_;
  const Catalog& catalog_;
  ByDeadline waiters_;
  std::multimap<InstanceId, ByDeadline::iterator> by_instance_;
};

}  // namespace millrace
