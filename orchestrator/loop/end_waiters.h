// EndWaiters: callers that wait for the end of an instance, with their deadlines. Engine thread
// only.
#pragma once

#include <cstddef>
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
  /// Up to so many waiters, those whose caller has left stay until their deadline.
  static constexpr size_t kFew = 1'024;

  EndWaiters(const Environment& environment, const Catalog& catalog)
      : environment_(environment), catalog_(catalog) {}

  /// Adds waiters. A waiter whose instance has ended or does not exist, as of the last commit, is
  /// answered at once. Reads a snapshot: a failed read in the batches' transaction would lose the
  /// next batch. If there are many, those whose caller has left are forgotten before: so callers
  /// that begin to wait and leave at once never fill the memory, and to look for them costs each
  /// waiter that is added a constant time. In all functions `elapsed` is Clock::elapsed().
  void add(std::vector<EndWaiter> waiters, Duration elapsed);
  /// Answers the waiters of an instance that has ended; the end is on disk.
  void on_end(const InstanceId& id);
  /// Answers the waiters whose deadline has passed, with `wait.timeout`.
  void expire(Duration elapsed);
  /// The next deadline of a waiter; nullopt: there is no waiter.
  std::optional<Duration> next_deadline() const;
  /// Removes all waiters and returns a function for each that answers it with an error.
  std::vector<Refuse> abandoned();

 private:
  using ByDeadline = std::multimap<Duration, EndWaiter>;

  void forget_left();
  /// Whether the instance exists and has not ended.
  Result<bool> is_active(const View& committed, const EndWaiter& waiter) const;

  const Environment& environment_;
  const Catalog& catalog_;
  ByDeadline waiters_;
  std::multimap<InstanceId, ByDeadline::iterator> by_instance_;
  size_t most_ = kFew;  ///< with so many waiters, add() calls forget_left()
};

}  // namespace millrace
