// LookBackQueue: bounds how many searches for early events (`lookback`) are under way, and so their
// memory. An instance whose search has to wait is parked in the store; the queue has only its id,
// and lets it continue when there is room: then it asks again. Each namespace has a share of the
// searches, which no other namespace can take, and an instance that asks while others of its
// namespace wait is behind them. Engine thread only.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "model/early_events.h"
#include "model/effect.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/loop/continue_queue.h"
#include "orchestrator/ports/early_event_finder.h"

namespace millrace {

class LookBackQueue {
 public:
  /// The most searches that are under way: as many as begin backpressure (Marks::evaluations).
  static constexpr size_t kMost = 10'000;

  explicit LookBackQueue(EarlyEventFinder find, size_t most = kMost)
      : find_(std::move(find)), most_(most) {}

  /// Begins a search, whose result `done` gets on any thread. If too many of the namespace are
  /// under way, or others of it wait, only notes its instance for release(), and returns false.
  bool ask(LookBack asked, std::function<void(EarlyEvents)> done);

  /// Adds instances that may ask again to `continues`, of each namespace that has room for many
  /// searches. To be called after each batch: each result and each instance that continues is the
  /// input of one, so no instance is left.
  void release(std::vector<ContinueInput>& continues);

  /// Forgets all instances that wait. The caller lets all parked instances continue.
  void clear();

 private:
  /// A number of searches under way; the results may come after the end of this object.
  using Searching = std::shared_ptr<std::atomic<size_t>>;

  /// The searches of one namespace.
  struct Space {
    bool waits() const { return !(added.empty() && queue.empty()); }
    bool is_empty() const { return !waits() && released.empty(); }

    Searching searching = std::make_shared<std::atomic<size_t>>(0);
    std::set<InstanceId> released;     ///< that have not asked since; some may never ask
    std::vector<ContinueInput> added;  ///< instances that are not in `queue` yet
    ContinueQueue queue;
  };

  size_t share_of(const Space& space) const;

  const EarlyEventFinder find_;
  const size_t most_;
  const Searching searching_ = std::make_shared<std::atomic<size_t>>(0);
  std::map<NamespaceNumber, Space> spaces_;  ///< those that have a search, or wait for one
};

}  // namespace millrace
