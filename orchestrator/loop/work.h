// Work: what one turn of the engine's thread takes off the lanes of the intake (intake.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/input.h"

namespace millrace {

/// A caller that waits for the end of an instance.
struct EndWaiter {
  std::string space;
  InstanceId id;
  Duration at_most;                  ///< for so long from when the engine takes it in
  std::function<void(Status)> done;  ///< called once, on any thread
};

struct Work {
  std::vector<Delivery> deliveries;
  std::vector<CommandInput> commands;
  std::vector<EvaluatedInput> evaluated;
  std::vector<TaskInput> tasks;
  std::vector<AckInput> acks;
  std::vector<WebhookResult> webhook_results;
  std::vector<StreamChange> stream_changes;
  std::vector<ContinueInput> continues;  ///< the processor's own
  std::vector<EndWaiter> waiters;

  bool empty() const;
  /// How many inputs the batch is noted to have: acknowledgements, what became of webhooks and
  /// changes of the stream step no instance.
  size_t size() const;
};

/// Moves all of them behind what is there.
template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace millrace
