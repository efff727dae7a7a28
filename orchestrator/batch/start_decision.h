// StartDecision: what the limits of a workflow and the quotas of its namespace do with a start, in
// the order in which they are asked. The batch that starts the instance (Instances::admit()) and
// the query that says what an event would do answer the same questions, each from its own state, so
// both decide equally. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/definition.h"
#include "model/instance.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "states/workflow.h"

namespace millrace {

/// What a decision about one start asks. Errors of the results: those of the store.
class StartQuestions {
 public:
  virtual ~StartQuestions() = default;

  // Each of these returns the error with which the start is refused; nullopt: it is not.

  /// The quotas of every start: `instances` and `storeBytes`.
  virtual Result<std::optional<Error>> over_quota() = 0;
  /// The quota `storeBytes` alone.
  virtual Result<std::optional<Error>> over_bytes() = 0;
  /// The quota `startKeys`, for a start that is put off and is the first of its key.
  virtual Result<std::optional<Error>> over_pending_keys() = 0;
  /// The quota `startKeys`, for a start that has this key of the throttle.
  virtual Result<std::optional<Error>> over_throttle_keys(const SlotKey& key) = 0;
  /// The quota `queuedStarts`, for a start that has to wait.
  virtual Result<std::optional<Error>> over_queue() = 0;
  /// The `rateLimit`, if the workflow has one.
  virtual Result<std::optional<Error>> over_rate() = 0;
  /// The `rateLimit`, and the quota `startKeys` for its key. In a batch: counts the start.
  virtual Result<std::optional<Error>> take_rate() = 0;

  /// Whether an instance of the workflow has not ended. Only asked of a singular one.
  virtual Result<bool> is_live() = 0;
  /// Whether a start gets a slot of its key at once.
  virtual Result<bool> has_slot(const Slot& slot) = 0;
  /// The instance that has held a slot of the key longest; nullopt: none does. Only asked if no
  /// slot is free.
  virtual Result<std::optional<InstanceId>> holder(const Slot& slot) = 0;
  /// Whether a start of the key may begin now; none may while the workflow is paused.
  virtual Result<bool> is_permitted(const SlotKey& key) = 0;
};

/// Whether an instance may start now with that input, asked in this order: `singular`, the quotas,
/// `rateLimit`, `concurrency`, `throttle`. `has_counted`: the `rateLimit` has counted its requests.
Result<StartGate> decide_start(StartQuestions& ask, TimePoint now, const WorkflowEntry& entry,
                               const Workflow& workflow, const LazyJson& input,
                               bool has_counted = false);

/// Why a request for a start is refused that `debounce` or `batch` puts off; nullopt: it is not.
/// `is_new`: no start of its key is pending, so it is the first one. With `batch` it counts for the
/// `rateLimit` at once.
Result<std::optional<Error>> refusal_of_request(StartQuestions& ask, const Workflow& workflow,
                                                bool is_new);

/// Which limit has refused a start with that error: kQuota for the code of a quota, else `asked`.
LimitKind limit_of(const Error& refusal, LimitKind asked);

/// The error `direktiv.mutex` of a singular workflow with an instance that has not ended.
Error not_single(std::string_view workflow);

/// How a message names the key of a slot: ` of the key "a"`; empty: it has none.
std::string of_slot_key(const Slot& slot);

/// The instance that has held a slot of the key of the workflow longest; nullopt: none that can be
/// read. Errors: those of the view.
Result<std::optional<InstanceId>> oldest_holder(const View& view, WorkflowNumber workflow,
                                                const Slot& slot);

/// A start, or another run of an ended instance, that gets no slot.
struct WithoutSlot {
  std::string_view code;             ///< of the error
  std::string_view then;             ///< what to do when another instance has ended
  std::optional<InstanceId> holder;  ///< one that holds a slot of the key; nullopt: not known
};
/// Its error. Precondition: the workflow has `concurrency`.
Error no_slot(std::string_view workflow_id, const Workflow& workflow, const Slot& slot,
              const WithoutSlot& without);

/// When a start is due of which a request comes at `now`, and of whose key the first one came at
/// `first`.
TimePoint debounced_until(const Debounce& debounce, TimePoint first, TimePoint now);

/// Whether an input of so many bytes fits into the batch of starts.
bool has_space_for(const PendingStart& open, size_t bytes);

/// Why an input cannot be a part of a batch of starts: `millrace.limits.data`; nullopt: it can.
std::optional<Error> refusal_of_batched(const LazyJson& input);

}  // namespace millrace
