// PendingStarts: starts that the `debounce` or the `batch` of their workflow puts off. With
// `debounce` the newest request for a key counts: it replaces the one before, and moves the time of
// the start. With `batch` the inputs of all requests for a key are collected (start_batches.cc). A
// pending start is a row (pending_start_rows.h) in the commit of its request, and one timer is
// armed for the first of all of them. So a restart loses none, and starts none twice. Engine thread
// only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "states/workflow.h"

namespace millrace {

class Instances;
struct StartGate;
struct StartSpec;

/// The error of a call whose subflow was not started, because a newer start of its key came.
inline constexpr std::string_view kDebouncedError = "millrace.debounced";

/// The most bytes of the input that a batch of starts makes: as many as the input of a call over
/// HTTP may have. A single larger input is a batch of its own.
inline constexpr size_t kMostBatchBytes = size_t{1} << 20;

/// The place of the batch that still collects inputs for a key, whose JSON text is `key`.
PendingStartPlace batch_place(std::string_view id_key, const WorkflowEntry& entry,
                              const std::string& key);
/// The place of a batch that collects none any more, so that a next one may collect for its key.
PendingStartPlace closed_place(std::string_view id_key, const PendingStartPlace& place,
                               const InstanceId& instance);

/// Which pending starts a command drops.
struct PendingSelection {
  NamespaceNumber ns{};
  std::optional<WorkflowNumber> workflow;  ///< nullopt: of all workflows of the namespace
  std::optional<TimePoint> since;          ///< the first request did not come before
};

/// What a caller gets that waits for a start which a command has dropped, or whose workflow is
/// deleted.
Error cancelled_before_start();
Error workflow_is_deleted();

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

  /// Puts off a start. Precondition: Workflow::puts_off_starts(). `id`: of the instance, if no
  /// start of the key is pending. Errors of the result: those of the store.
  ///
  /// With `debounce`: a subflow keeps its id (`spec.id`) in any case. A repetition with the
  /// idempotency key of the pending request changes nothing. The refusals are those of
  /// StartRates::check(), `millrace.quota.startKeys`, `millrace.quota.storeBytes` and, for another
  /// input under the same idempotency key, `start.conflict`.
  ///
  /// With `batch`: no caller gets the result of the instance, and there is no idempotency key, so
  /// `spec` has neither. The refusals are those of StartRates::take(), which counts the request,
  /// the quotas as above, and `millrace.limits.data` for an input that nests too deep.
  Result<Deferred> defer(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                         StartSpec spec, const InstanceId& id);

  /// The effect of an event that has made such a request, unless another refusal than that of the
  /// `rateLimit` makes it a dead letter.
  static EventEffect::Kind effect_of(const Workflow& workflow, const Deferred& deferred);

  /// Drops the pending start from which that instance would start, whose place was `place`; a
  /// caller that waits for it gets the error of a cancelled subflow. Returns false, and changes
  /// nothing, if it is not there any more. Errors: those of the store.
  Result<bool> cancel(TimePoint now, const PendingStartPlace& place, const InstanceId& id);

  /// Drops pending starts of the selection, as many as one batch should, in the order of their
  /// rows, behind those that earlier batches have looked at. A caller that waits for one gets the
  /// error. Returns whether no further one follows. Errors: those of the store.
  Result<bool> drop_some(TimePoint now, const PendingSelection& selected, const Error& error,
                         PendingSweep& sweep);

  /// Starts the instances whose time has come, some of them, and arms the timer for the others.
  Status fire(TimePoint now);

 private:
  Status replace(const PendingStartPlace& place, const PendingStart& before,
                 const InstanceId& newer);
  Result<size_t> fire_one(TimePoint now, const ListedStart& listed);
  Status start(TimePoint now, const PendingStartPlace& place, PendingStart pending);
  Status put_off(const PendingStartPlace& place, PendingStart pending, TimePoint at);
  Status abandon(TimePoint now, const PendingStartPlace& place, PendingStart pending, Error error);
  void answer(const PendingStartPlace& place, const PendingStart& pending, CallResult result);
  Status drop(const PendingStartPlace& place, const PendingStart& pending, CallResult result);
  Status refuse(TimePoint now, TimePoint again, const PendingStartPlace& place,
                PendingStart pending, const StartGate& gate);
  Status erase(const PendingStartPlace& place, PendingStart pending);
  // Batches (start_batches.cc).
  Result<Deferred> join(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                        StartSpec spec, const InstanceId& id);
  Status close(const PendingStartPlace& place, PendingStart pending, TimePoint at);
  Result<bool> collect(const PendingStartPlace& place, PendingStart& pending);
  Status erase_batch(const PendingStartPlace& place, PendingStart pending);
  Result<bool> is_wanted(TimePoint now, const PendingStartPlace& place,
                         const PendingStart& pending);
  Status arm();

  BatchState& batch_;
  Instances& instances_;
};

}  // namespace millrace
