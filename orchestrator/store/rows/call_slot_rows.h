// Call slot rows: the slots and the throttles of calls of services and containers (`concurrency`
// and `throttle` of a function or an action). All tasks of a namespace for one service and key
// share them. Each task with a slot (StartTask::slot) has one row, among those that hold a slot of
// its key, that wait for one, or that are left out because their instance is paused. A task that
// waits for its throttle (StartTask::throttle) has another one, likewise. A row of counts for each
// key has how many there are, so no start and no end of a task counts rows. Table `queues`; how
// many tasks a throttle has let pass is in start_rate_rows.h. Functions that read take any View,
// functions that write the Transaction. A damaged row gives an error that names it (damage.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/effect.h"
#include "model/sealing.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with these rows, and with slots in tasks.
inline constexpr uint64_t kMinorOfCallSlots = 11;
/// The first minor number of a store with rows of calls that wait for a throttle, with throttles in
/// tasks, and with counts of calls among those of starts.
inline constexpr uint64_t kMinorOfCallThrottles = 13;
/// The first minor number of a store with timeouts of slots in tasks.
inline constexpr uint64_t kMinorOfCallSlotTimeouts = 15;

/// What the tasks that share slots are for.
struct SlotService {
  // On disk: never renumber.
  enum class Kind : uint8_t {
    kService = 0,
    kGlobalService = 1,  ///< of the namespace `default`
    kContainer = 2,
  };
  Kind kind = Kind::kService;
  std::string name;  ///< of the service; of a container its image

  bool operator==(const SlotService&) const = default;
};
SlotService slot_service_of(const StartTask& task);

/// A key of the slots of calls, or of their throttle.
struct CallSlotKey {
  NamespaceNumber ns{};
  Fingerprint key{};  ///< of the service and TaskSlot::key or TaskThrottle::key
  bool is_throttle = false;

  auto operator<=>(const CallSlotKey&) const = default;
};
CallSlotKey call_slot_key_of(NamespaceNumber ns, const SlotService& service, std::string_view key);
/// Precondition: the task has a slot.
CallSlotKey call_slot_key_of(const StartTask& task);
CallSlotKey call_throttle_key_of(NamespaceNumber ns, const SlotService& service,
                                 std::string_view key);
/// Precondition: the task has a throttle.
CallSlotKey call_throttle_key_of(const StartTask& task);

/// The kinds of the rows of tasks that wait for the key, and of those that are left out.
QueueRow waiting_kind(const CallSlotKey& key);
QueueRow paused_kind(const CallSlotKey& key);

/// The row of counts of a key.
struct CallSlotCounts {
  SlotService service;
  std::string key;      ///< TaskSlot::key or TaskThrottle::key
  uint32_t limit = 1;   ///< that of the newest task
  uint64_t held = 0;    ///< tasks that hold a slot; 0 for a throttle
  uint64_t queued = 0;  ///< tasks that wait for one, or for the throttle
  uint64_t paused = 0;  ///< tasks of paused instances that are left out of the queue
  Sealing sealed;       ///< whether the key may contain data of a secret

  bool empty() const { return held == 0 && queued == 0 && paused == 0; }
};

/// A row of a task: the first byte of its key is `kind`.
struct CallPlace {
  /// kCallHolder, kCallWaiting or kCallPaused; or kCallThrottled or kCallThrottlePaused.
  QueueRow kind = QueueRow::kCallWaiting;
  /// Of the slot or the throttle of the task; in the key of a row only of one that waits.
  int32_t priority = 0;
  uint64_t number = 0;  ///< likewise

  bool operator==(const CallPlace&) const = default;
};

/// The value of the row of a task.
struct CallPlaceRecord {
  InstanceId task;
  TimePoint since;                      ///< when it got the slot, began to wait, or was left out
  uint32_t limit = 1;                   ///< of its slot or its throttle
  std::optional<Span> period = {};      ///< of its throttle; nullopt: the row is one of slots
  std::optional<TimePoint> until = {};  ///< when the wait for the throttle ends with an error
};
/// The limit and the period of a row of a throttle.
StartLimit rate_of(const CallPlaceRecord& record);

/// The bytes of the records. Decoding fails with `store.corrupt`.
std::string encode(const CallSlotCounts& counts);
Result<CallSlotCounts> decode_call_slot_counts(std::string_view bytes);
std::string encode(const CallPlaceRecord& record);
Result<CallPlaceRecord> decode_call_place(std::string_view bytes);

// Keys.

/// Whether the key of a row of `queues` is that of a row of calls, by its first byte.
bool is_call_row(std::string_view key);
std::string call_counts_key(const CallSlotKey& key);
std::string call_place_key(const CallSlotKey& key, const CallPlace& place);
/// What the key of such a row says.
struct CallRowKey {
  QueueRow kind{};
  CallSlotKey key;
  CallPlace place;  ///< of the other kinds than kCallCounts
};
/// nullopt: no release writes such a key.
std::optional<CallRowKey> parse_call_row_key(std::string_view key);

// Rows.

/// The counts of a key; nullopt: no task holds one of its slots or waits for one.
Result<std::optional<CallSlotCounts>> read_call_counts(const View& view, const CallSlotKey& key);
/// Writes the counts, or erases the row if all are zero.
void write_call_counts(Transaction& tx, const CallSlotKey& key, const CallSlotCounts& counts);
/// Visits the counts of a namespace, first those of slots, then those of throttles, each in the
/// order of the fingerprints, after the key `behind` if that is given, until `see` returns false.
Status each_call_counts(const View& view, NamespaceNumber ns,
                        const std::optional<CallSlotKey>& behind,
                        const std::function<bool(const CallSlotKey&, const CallSlotCounts&)>& see,
                        const OnDamage& damaged = nullptr);
/// The namespaces that have rows of counts.
Result<std::vector<NamespaceNumber>> namespaces_with_call_slots(const View& view);

void write_call_place(Transaction& tx, const CallSlotKey& key, const CallPlace& place,
                      const CallPlaceRecord& record);
void erase_call_place(Transaction& tx, const CallSlotKey& key, const CallPlace& place);

/// The value of a row of a task; nullopt: there is no such row.
Result<std::optional<CallPlaceRecord>> read_call_place(const View& view, const CallSlotKey& key,
                                                       const CallPlace& place);

/// The place of a task with a slot; nullopt: it has no row.
Result<std::optional<CallPlace>> find_call_place(const View& view, const StartTask& task);
/// When the wait of a task with a slot ends with an error; nullopt: it has no timeout, or does not
/// wait at `place`.
Result<std::optional<TimePoint>> read_slot_wait_end(const View& view, const StartTask& task,
                                                    const CallPlace& place);

/// A task that holds a slot, or waits for one or for its throttle.
struct PlacedCall {
  CallPlace place;
  CallPlaceRecord record;
};
/// The row of a task with a throttle; nullopt: it does not wait for the throttle.
Result<std::optional<PlacedCall>> find_throttled_call(const View& view, const StartTask& task);

/// Visits the tasks of a key that are of the kind, in their order, until `see` returns false.
Status each_call_place(const View& view, QueueRow kind, const CallSlotKey& key,
                       const std::function<bool(const PlacedCall&)>& see,
                       const OnDamage& damaged = nullptr);
/// Visits the tasks that hold a slot of the key and have a higher number than `after`, in the order
/// of their numbers, until `see` returns false.
Status each_call_holder(const View& view, const CallSlotKey& key, uint64_t after,
                        const std::function<bool(const PlacedCall&)>& see,
                        const OnDamage& damaged = nullptr);
/// The oldest task that holds a slot of the key, or the one that is next among those that wait;
/// nullopt: there is none. A damaged row is passed over.
Result<std::optional<PlacedCall>> read_first_call(const View& view, QueueRow kind,
                                                  const CallSlotKey& key,
                                                  const OnDamage& damaged = nullptr);

/// Erases the rows of a namespace, until the budget is spent; returns whether none is left.
Result<bool> purge_call_slots(Transaction& tx, NamespaceNumber ns, PurgeBudget& budget);

}  // namespace millrace
