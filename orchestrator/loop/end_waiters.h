// EndWaiters: who wants to know when an instance has ended, and how long each will wait. Engine
// thread only.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "orchestrator/loop/intake.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class EndWaiters {
 public:
  EndWaiters(const View& view, const Catalog& catalog, Queries& queries)
      : view_(view), catalog_(catalog), queries_(queries) {}

  /// Those whose instance has ended, or is not there, are told at once.
  void add(std::vector<EndWaiter> waiters);
  /// The instance has ended, and that is on disk.
  void tell(const InstanceId& id);
  /// Tells those whose time is over.
  void expire(Duration elapsed);
  /// When the first one's is; nullopt: nobody waits.
  std::optional<Duration> next_deadline() const;
  /// Those who are left.
  std::vector<EndWaiter::Done> abandoned();

 private:
  using ByDeadline = std::multimap<Duration, EndWaiter>;

  const View& view_;
  const Catalog& catalog_;
  Queries& queries_;
  ByDeadline waiters_;
  std::multimap<InstanceId, ByDeadline::iterator> by_instance_;
};

}  // namespace millrace
