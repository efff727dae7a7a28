// For what the open calls of an instance wait: a callback, a slot, a paused service, a worker, the
// next attempt and so on. For one thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "model/effect.h"
#include "model/instance.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/outgoing/started_tasks.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

class CallWaits {
 public:
  /// What the items are made from; all of it outlives the object. The instance was read with its
  /// calls.
  struct Parts {
    const View& view;
    std::string_view ns;
    const Instance& instance;
    const Workflow& workflow;
    const StartedTasks& started;
    Disclosures& disclosures;
  };

  /// Reads the settings of the namespace and of `default`; settings that cannot be read count as
  /// empty. Errors: those of the view.
  static Result<CallWaits> read(const Parts& parts);

  /// call_wait() of the open call with that index, with {"for","service"?,"global"?,"deadline"?,
  /// "lastError"?}. `for` is what it waits for: "callback" (its service has accepted the task),
  /// "subflow" (the end of the instance), "answer" (of a service, a worker or a container that has
  /// the task), "worker" (none has taken the task), "connection" (the HTTP service has not got the
  /// request), "slot", "throttle", "service" (it is paused),
  /// "attempt" (the next one), "others" (other calls of the state), or "resume" (of the instance).
  /// A paused service comes before its slots and its throttle, which it holds.
  /// `deadline` is the earliest one that counts: not a timeout that a pause holds. Errors: those of
  /// the view.
  Result<Json> of(size_t index);

 private:
  CallWaits(const Parts& parts, NamespaceSettings own, NamespaceSettings global)
      : parts_(parts), own_(std::move(own)), global_(std::move(global)) {}

  Result<std::string_view> awaited_by(const Call& call, const StartTask* task) const;
  Result<bool> is_queued(const StartTask& task) const;
  Result<bool> is_throttled(const StartTask& task) const;
  const NamespaceSettings& settings_of(const NamedService& service) const;
  std::string_view awaited_from(const NamedService& service) const;

  Parts parts_;
  NamespaceSettings own_;
  NamespaceSettings global_;  ///< of the namespace `default`
};

/// Adds to "waits" the timer and the first open calls for which an instance waits, which was read
/// with its calls, and "moreWaits", how many other open calls there are. Errors: those of the view.
Status add_waits_of_calls(const CallWaits::Parts& parts, Json& item);

}  // namespace millrace
