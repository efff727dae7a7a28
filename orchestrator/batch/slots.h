// Slots: the flow control of workflows (`concurrency`, `throttle`, `priority`): what a start
// evaluates, and the rows and counts of the instances that hold a slot, or that wait for one or for
// the throttle (queue_rows.h). Everything is in the batch that starts or ends the instance, so no
// slot is lost or held twice after a crash. start_queues.h lets the starts begin that wait. Engine
// thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "states/workflow.h"

namespace millrace {

/// The place of a start in the flow control of its workflow.
struct StartPlace {
  std::optional<Slot> slot;            ///< its key and its priority; nullopt: no `concurrency`
  std::optional<Throttled> throttled;  ///< likewise; nullopt: no `throttle`

  bool empty() const { return !slot && !throttled; }
};

/// What limits the starts of a workflow.
enum class LimitKind : uint8_t {
  kSingular,
  kQuota,  ///< one of the namespace
  kRateLimit,
  kDebounce,
  kBatch,
  kConcurrency,
  kThrottle,
};
/// The name of the limit in the API, which is that of its key in a definition: "singular", "quota",
/// "rateLimit", …
std::string_view to_string(LimitKind limit);
/// The names of all limits, in the order of the enumeration.
std::span<const std::string_view> limit_names();

/// Whether an instance may start now.
struct StartGate {
  std::optional<Error> refusal;  ///< why no instance may start; nullopt: one may
  /// The limit that refuses the start, for which it has to wait, or because of which it takes the
  /// slot of another instance; nullopt: the instance begins at once.
  std::optional<LimitKind> limit;
  /// The workflow limits its starts: a start without a caller is skipped, and this is noted with
  /// its event. nullopt: none is refused for that reason.
  std::optional<EventEffect::Kind> effect;
  /// The workflow says `onLimit: skip`: a caller that waits for a result gets null.
  bool is_dropped = false;
  StartPlace place;  ///< of an instance that may start
};

/// Whether each start of the workflow has keys or a priority to evaluate.
inline bool has_flow_control(const Workflow& workflow) {
  return workflow.concurrency || workflow.throttle || workflow.priority;
}

/// How many slots each key of the workflow has.
uint64_t slots_of(const Workflow& workflow);

/// Evaluates the key and the priority over the input of a start. nullopt: the workflow has no
/// `concurrency`. Errors: start_key(), also for a key of more than kMostSlotKeyBytes, and
/// `millrace.concurrency.priority` for a priority that is no integer.
Result<std::optional<Slot>> evaluate_slot(const Workflow& workflow, const LazyJson& input,
                                          TimePoint now);
/// Likewise for `throttle`.
Result<std::optional<Throttled>> evaluate_throttled(const Workflow& workflow, const LazyJson& input,
                                                    TimePoint now);

/// The counts of a key. If their row is damaged, notes that and counts the rows of the instances.
Result<SlotCounts> counts_of(BatchState& batch, const SlotKey& key);
/// Counts the rows of the instances, and writes the row of counts.
Result<SlotCounts> recount(BatchState& batch, const SlotKey& key);

/// Gives `slot` its number and a free slot of its key, or a place among those that wait, and writes
/// its rows. `most` is slots_of() the workflow.
Result<Slot> take_slot(BatchState& batch, const Instance& instance, Slot slot, uint64_t most,
                       TimePoint now);

/// Writes the row of an instance that waits for the throttle, if it has none. Precondition: it is
/// not paused.
Status add_throttled(BatchState& batch, const Instance& instance, const Throttled& throttled,
                     TimePoint now);
/// Erases the row of an instance that waits for the throttle, if it has one.
Status remove_throttled(BatchState& batch, const Instance& instance);

/// Frees the slot of an instance that ends, or takes it out of its queue. `wakes`: the start that
/// is next gets the slot.
Status leave_slot(BatchState& batch, const Instance& instance, bool wakes);

}  // namespace millrace
