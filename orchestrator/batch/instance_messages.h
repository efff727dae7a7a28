// InstanceMessages: messages between instances. The engine steps one instance and changes no other,
// so a message for another instance (start a subflow, cancel a subflow, return a result) is
// appended to a queue (BatchState::messages). The queue is processed after each input, until the
// unit of work or the limit of the batch is used up. Messages that are left wait in the lane of
// their sender, or in that of an earlier message to the same receiver: they are written into the
// table `inbox` in the same commit, and are processed in fair turns of the lanes. Messages of one
// lane keep their order, so the messages to one receiver do, too. The receiver may have changed
// meanwhile: a message names its call, and is ignored if the call has ended. Engine thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

class InstanceMessages {
 public:
  InstanceMessages(BatchState& batch, Instances& instances)
      : batch_(batch), instances_(instances) {}

  /// Reads the messages that earlier batches left in the store.
  Status load();

  /// Sets how many messages run() and go_on() may process until the next call of begin_batch().
  void begin_batch(size_t most) { left_ = most; }

  /// Processes the messages of this unit of work in their order, including messages that they
  /// create. What is left of them waits, and so do messages of lanes that have waiting messages,
  /// and messages to receivers for which some wait.
  Status run(TimePoint now);

  /// The lanes that have waiting messages.
  std::vector<WorkLane> lanes() const;
  bool empty() const { return waiting_.empty(); }
  /// Whether the lane has waiting messages that this batch may still process.
  bool may_go_on(const WorkLane& lane) const { return left_ > 0 && waiting_.contains(lane); }
  /// Processes the next waiting message of the lane, and the messages that it creates.
  Status go_on(TimePoint now, const WorkLane& lane);

  /// Writes the waiting messages into the table `inbox`.
  Status write();

 private:
  /// The messages that wait for one receiver. All of them are in one lane.
  struct Receiver {
    WorkLane lane;
    size_t waiting = 0;
  };

  bool must_wait(const QueuedMessage& message) const;
  void wait(QueuedMessage message);
  Status process(TimePoint now, QueuedMessage queued);
  Status run(TimePoint now, const StartChild& message, const QueuedMessage& queued);
  Status run(TimePoint now, const CancelChild& message, const QueuedMessage& queued);
  Status run(TimePoint now, const ReturnResult& message, const QueuedMessage& queued);

  Status keep_events(const QueuedMessage& queued);
  /// Whether the caller still waits for the result of the subflow `child`.
  Result<bool> is_wanted(TimePoint now, NamespaceNumber ns, const Caller& caller,
                         const InstanceId& child);
  Status refuse(TimePoint now, const StartChild& message, const WorkLane& lane, Error error);
  Status drop(TimePoint now, const StartChild& message, const WorkLane& lane, const Error& reason);
  Status answer(TimePoint now, const StartChild& message, const WorkLane& lane, CallResult result);
  Status add_to_batch(TimePoint now, const StartChild& message, const QueuedMessage& queued,
                      const WorkflowEntry& entry, const Workflow& workflow, StartSpec spec);

  BatchState& batch_;
  Instances& instances_;
  std::map<WorkLane, std::deque<QueuedMessage>> waiting_;
  std::unordered_map<InstanceId, Receiver> receivers_;
  size_t left_ = 0;
};

}  // namespace millrace
