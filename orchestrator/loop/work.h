// Work: the inputs that one turn of the engine thread takes from the intake (intake.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/ports/archiver.h"

namespace millrace {

class Dedupe;
class KeptEvents;
class WaitIndex;

/// What a question may read of the memory of the engine thread.
struct EngineMemory {
  const WaitIndex& waiting;
  const Dedupe& dedupe;
  const KeptEvents& kept_events;
};

/// A question about listeners, or about ids of events, which only the engine thread knows. One of
/// the functions is called once: `answer` on the engine thread, where it may take 200 µs, or
/// `refuse`.
struct IndexQuestion {
  std::function<void(const EngineMemory& memory)> answer;
  std::function<void(const Error& why)> refuse;
};

/// A caller that waits for the end of an instance.
struct EndWaiter {
  std::string ns;
  InstanceId id;
  Duration at_most;                  ///< from the time at which the engine takes the waiter
  std::function<void(Status)> done;  ///< called once, on any thread; maybe not if the caller left
  /// Expires when the caller leaves; nullopt: the caller stays.
  std::optional<std::weak_ptr<const void>> caller = {};
};

struct Work {
  std::vector<Delivery> deliveries;
  std::vector<CommandInput> commands;
  std::vector<EvaluatedInput> evaluated;
  std::vector<TaskInput> tasks;
  std::vector<AckInput> acks;
  std::vector<WebhookResult> webhook_results;
  std::vector<StreamChange> stream_changes;
  std::vector<ArchivedPage> archived;
  std::vector<ContinueInput> continues;  ///< from earlier turns, not from the intake
  std::vector<EndWaiter> waiters;

  bool empty() const;
  /// Whether it has inputs that step instances, besides those that continue.
  bool has_inputs() const { return size() > continues.size(); }
  /// The number of inputs for the crash note. Acknowledgements, webhook results, changes of the
  /// stream and archived pages are not counted: they step no instance.
  size_t size() const;
};

/// Appends all elements of `from` to `to`, and clears `from`.
template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace millrace
