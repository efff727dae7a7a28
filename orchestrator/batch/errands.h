// Errands: what instances want of each other. The engine steps one instance and touches no other,
// so what concerns another (a child is to start, to be cancelled, has ended) is put at the end of a
// queue, which is worked off behind each input, up to a bound for each batch. What is left then is
// written into `inbox` with the same commit and comes first in the next batch. Whoever an errand is
// for may have gone on since: it names the call that it belongs to, and is ignored when that is
// over. Engine thread only.
#pragma once

#include <cstddef>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

class Errands {
 public:
  Errands(Draft& draft, Instances& instances) : draft_(draft), instances_(instances) {}

  /// Finds those that an earlier batch has left.
  Status load();

  /// How many may be run until the next call.
  void begin_batch(size_t most) { left_ = most; }

  /// Runs them in their order, those that they make included.
  Status run(TimePoint now);

  /// Writes those that are left.
  Status write();

 private:
  Status run(TimePoint now, const StartChild& errand, const QueuedErrand& queued);
  Status run(TimePoint now, const CancelChild& errand, const QueuedErrand& queued);
  Status run(TimePoint now, const ReturnResult& errand, const QueuedErrand& queued);

  Status keep_events(const QueuedErrand& queued);
  /// Whether the caller still waits for that child's result.
  Result<bool> is_wanted(TimePoint now, NamespaceNumber space, const Caller& caller,
                         const InstanceId& child);
  Status refuse(TimePoint now, const StartChild& errand, Error error);

  Draft& draft_;
  Instances& instances_;
  size_t left_ = 0;
};

}  // namespace millrace
