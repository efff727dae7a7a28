// StartInputs: applies an event to the start of a workflow that it matches. The event starts an
// instance, waits in a group, or is used up because the workflow is singular or has had as many
// starts as its `rateLimit` permits. Engine thread only.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/event_start_id.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

class StartInputs {
 public:
  StartInputs(BatchState& batch, Instances& instances, Groups& groups)
      : batch_(batch), instances_(instances), groups_(groups) {}

  /// Offers the event to the start of a workflow. Returns whether the event had an effect on the
  /// start. If a quota of the namespace does not permit the start, or that the event waits in a
  /// group, or the key of the `rateLimit` cannot be evaluated, `over` is set. Precondition: the
  /// workflow exists. Errors: those of the store.
  Result<bool> offer(TimePoint now, const AppliedEvent& applied, const StartTarget& target,
                     std::optional<Error>& over);

  /// Groups::must_wait(); false for starts of other kinds. Precondition: the workflow exists.
  Result<bool> must_wait(TimePoint now, const AppliedEvent& applied, const StartTarget& target);
  /// Groups::make_way(); true for starts of other kinds. Precondition: the workflow exists.
  Result<bool> make_way(const AppliedEvent& applied, const StartTarget& target);

  /// Makes the event a dead letter, because of `reason`.
  Status refuse(NamespaceNumber ns, const EventPosition& position, const Event& event,
                Error reason);

 private:
  Result<bool> put_off(TimePoint now, const AppliedEvent& applied, const WorkflowEntry& entry,
                       const Workflow& workflow, const StartTarget& target,
                       std::optional<Error>& over);

  BatchState& batch_;
  Instances& instances_;
  Groups& groups_;
};

}  // namespace millrace
