// InstanceMessages: messages between instances. The engine steps one instance and changes no other,
// so a message for another instance (start a subflow, cancel a subflow, return a result) is
// appended to a queue. The queue is processed after each input, up to a limit for each batch.
// Messages that are left are written into the table `inbox` in the same commit and come first in
// the next batch. The receiver may have changed meanwhile: a message names its call, and is ignored
// if the call has ended. Engine thread only.
#pragma once

#include <cstddef>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

class InstanceMessages {
 public:
  InstanceMessages(BatchState& batch, Instances& instances)
      : batch_(batch), instances_(instances) {}

  /// Reads the messages that earlier batches left in the store.
  Status load();

  /// Sets how many messages run() may process until the next call of begin_batch().
  void begin_batch(size_t most) { left_ = most; }

  /// Processes messages in their order, including messages that they create.
  Status run(TimePoint now);

  /// Writes the messages that run() has not processed into the table `inbox`.
  Status write();

 private:
  Status run(TimePoint now, const StartChild& message, const QueuedMessage& queued);
  Status run(TimePoint now, const CancelChild& message, const QueuedMessage& queued);
  Status run(TimePoint now, const ReturnResult& message, const QueuedMessage& queued);

  Status keep_events(const QueuedMessage& queued);
  /// Whether the caller still waits for the result of the subflow `child`.
  Result<bool> is_wanted(TimePoint now, NamespaceNumber ns, const Caller& caller,
                         const InstanceId& child);
  Status refuse(TimePoint now, const StartChild& message, Error error);

  BatchState& batch_;
  Instances& instances_;
  size_t left_ = 0;
};

}  // namespace millrace
