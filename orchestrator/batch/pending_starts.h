// PendingStarts: starts that the `debounce` of their workflow puts off. The newest request for a
// key counts: it replaces the one before, and moves the time of the start. A pending start is a row
// (pending_start_rows.h) in the commit of its request, and one timer is armed for the first of all
// of them. So a restart loses none, and starts none twice. Engine thread only.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "states/workflow.h"

namespace millrace {

class Instances;
struct StartGate;
struct StartSpec;

/// The error of a call whose subflow was not started, because a newer start of its key came.
inline constexpr std::string_view kDebouncedError = "millrace.debounced";

class PendingStarts {
 public:
  PendingStarts(BatchState& batch, Instances& instances) : batch_(batch), instances_(instances) {}

  /// What became of a request.
  struct Deferred {
    std::optional<Error> refusal;  ///< the others are not set then
    InstanceId id;                 ///< of the instance that will start
    TimePoint at;                  ///< when, unless a newer request comes
    bool is_new = false;           ///< no start of the key was pending
  };

  /// Puts off a start. Precondition: the workflow has `debounce`. `id`: of the instance, if no
  /// start of the key is pending; that of a subflow (`spec.id`) in any case. A repetition with the
  /// idempotency key of the pending request changes nothing. The refusals are those of
  /// StartRates::check(), `millrace.quota.startKeys`, `millrace.quota.storeBytes` and, for another
  /// input under the same idempotency key, `start.conflict`. Errors of the result: those of the
  /// store.
  Result<Deferred> defer(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                         StartSpec spec, const InstanceId& id);

  /// Starts the instances whose time has come, some of them, and arms the timer for the others.
  Status fire(TimePoint now);

 private:
  Result<std::optional<Error>> refusal(TimePoint now, const WorkflowEntry& entry,
                                       const Workflow& workflow, const LazyJson& input,
                                       bool is_new);
  Status replace(const PendingStartPlace& place, const PendingStart& before,
                 const InstanceId& newer);
  Status fire_one(TimePoint now, const ListedStart& listed);
  Status start(TimePoint now, const PendingStartPlace& place, PendingStart pending);
  Status put_off(const PendingStartPlace& place, PendingStart pending, TimePoint at);
  Status drop(const PendingStartPlace& place, const PendingStart& pending, CallResult result);
  Status refuse(TimePoint now, const PendingStartPlace& place, PendingStart pending,
                const StartGate& gate);
  Result<bool> is_wanted(TimePoint now, const PendingStartPlace& place,
                         const PendingStart& pending);
  Status arm();

  BatchState& batch_;
  Instances& instances_;
};

}  // namespace millrace
