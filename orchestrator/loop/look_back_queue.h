// LookBackQueue: bounds how many searches for early events (`lookback`) are under way, and so their
// memory. An instance whose search has to wait is parked in the store; the queue has only its id,
// and lets it continue when there is room: then it asks again. The namespaces take turns, and an
// instance that asks while others wait is behind them. Engine thread only.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
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

  /// Begins a search, whose result `done` gets on any thread. If too many are under way, or others
  /// wait, only notes its instance for release(), and returns false.
  bool ask(LookBack asked, std::function<void(EarlyEvents)> done);

  /// Adds instances that may ask again to `continues`, if there is room for many searches. To be
  /// called after each batch: each result and each instance that continues is the input of one, so
  /// no instance is left.
  void release(std::vector<ContinueInput>& continues);

  /// Forgets all instances that wait. The caller lets all parked instances continue.
  void clear();

 private:
  const EarlyEventFinder find_;
  const size_t most_;
  /// The searches under way; the results may come after the end of this object.
  const std::shared_ptr<std::atomic<size_t>> searching_ = std::make_shared<std::atomic<size_t>>(0);
  std::set<InstanceId> released_;     ///< that have not asked since; some may never ask
  std::vector<ContinueInput> added_;  ///< instances that are not in queue_ yet
  ContinueQueue queue_;
};

}  // namespace millrace
