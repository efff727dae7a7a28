// Queue rows: the slots of workflows with `concurrency`, and the starts that wait for them or for a
// `throttle`. Each live instance with a slot (Instance::slot) has one row, among those that hold a
// slot of its key, or among those that wait for one. Each that waits for the throttle
// (is_throttled()), and is not paused, has one among those of its key. A row of counts for each key
// has how many there are, so no start and no end of an instance counts rows. Table `queues`.
// Functions that read take any View, functions that write the Transaction. A damaged row gives an
// error that names it (damage.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/sealing.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with these rows, with slots and throttled starts in heads, and
/// with the kinds of history records that belong to them.
inline constexpr uint64_t kMinorOfQueues = 11;

/// The kinds of rows in `queues`: the first byte of their keys.
// On disk: never renumber.
enum class QueueRow : uint8_t {
  kCounts = 1,          ///< one for each key that has one of the next two
  kHolder = 2,          ///< an instance that holds a slot
  kWaiting = 3,         ///< an instance that waits for a slot
  kThrottleCounts = 4,  ///< one for each key that has one of the next
  kThrottled = 5,       ///< an instance that waits for the throttle
  // Slots of calls (call_slot_rows.h).
  kCallCounts = 6,   ///< one for each service and key that has one of the next three
  kCallHolder = 7,   ///< a task that holds a slot
  kCallWaiting = 8,  ///< a task that waits for a slot
  kCallPaused = 9,   ///< a task that would wait, but whose instance is paused
  // Throttles of calls, likewise.
  kCallThrottleCounts = 10,  ///< one for each service and key that has one of the next two
  kCallThrottled = 11,       ///< a task that waits for the throttle
  kCallThrottlePaused = 12,  ///< a task that would wait, but whose instance is paused
};

/// The higher priority comes first in the order of the keys of rows that wait.
uint32_t rank_of_priority(int32_t priority);
int32_t priority_of_rank(uint32_t rank);

/// A key of a workflow's slots, or of its throttle.
struct SlotKey {
  bool is_throttle = false;
  WorkflowNumber workflow{};
  Fingerprint key{};  ///< of Slot::key or Throttled::key

  auto operator<=>(const SlotKey&) const = default;
};
SlotKey slot_key_of(WorkflowNumber workflow, std::string_view key);
SlotKey throttle_key_of(WorkflowNumber workflow, std::string_view key);

/// The row of counts of a key.
struct SlotCounts {
  std::string key;    ///< Slot::key or Throttled::key
  uint64_t held = 0;  ///< 0 for a throttle
  uint64_t queued = 0;
  Sealing sealed;  ///< whether the key may contain data of a secret

  bool empty() const { return held == 0 && queued == 0; }
};

/// An instance that holds a slot or waits for one.
struct SlotPlace {
  InstanceId instance;
  TimePoint since;       ///< when it got the slot, or began to wait
  int32_t priority = 0;  ///< of one that waits
  uint64_t number = 0;   ///< Slot::number or Throttled::number
};

/// The bytes of the records. Decoding fails with `store.corrupt`.
std::string encode(const SlotCounts& counts);
Result<SlotCounts> decode_slot_counts(std::string_view bytes);
/// Without the priority and the number, which are in the key of the row.
std::string encode(const SlotPlace& place);
Result<SlotPlace> decode_slot_place(std::string_view bytes);

// Keys.

std::string slot_counts_key(const SlotKey& key);
/// The kind of the rows of instances that wait for the key.
QueueRow waiting_kind(const SlotKey& key);
/// The key of the row of an instance: if the slot is queued, of waiting_kind(), else of kHolder.
/// The row of an instance that waits for the throttle is that of a queued slot (waiting_slot()).
std::string place_key(const SlotKey& key, const Slot& slot);
/// The place among those that wait for the throttle, as a queued slot.
Slot waiting_slot(const Throttled& throttled);
/// What a key of the table says.
struct QueueRowKey {
  QueueRow kind{};
  SlotKey key;
  int32_t priority = 0;  ///< of kWaiting and kThrottled
  uint64_t number = 0;   ///< of kHolder, kWaiting and kThrottled
};
/// nullopt: no release writes such a key.
std::optional<QueueRowKey> parse_queue_key(std::string_view key);

// Rows.

/// The counts of a key; all zero: no instance holds one of its slots or waits for one.
Result<SlotCounts> read_slot_counts(const View& view, const SlotKey& key);
/// Writes the counts, or erases the row if both are zero.
void write_slot_counts(Transaction& tx, const SlotKey& key, const SlotCounts& counts);
/// Visits the counts of a workflow's keys, first those of its slots, then those of its throttle,
/// each in the order of their fingerprints, after the key `behind` if that is given, until `see`
/// returns false.
Status each_slot_counts(const View& view, WorkflowNumber workflow,
                        const std::optional<SlotKey>& behind,
                        const std::function<bool(const SlotKey&, const SlotCounts&)>& see,
                        const OnDamage& damaged = nullptr);

void write_slot_place(Transaction& tx, const SlotKey& key, const Slot& slot,
                      const SlotPlace& place);
void erase_slot_place(Transaction& tx, const SlotKey& key, const Slot& slot);
/// Whether the instance has its row.
bool has_slot_place(const View& view, const SlotKey& key, const Slot& slot);
/// The instance that has held a slot of the key longest, or that is next among those that wait;
/// nullopt: there is none. A damaged row is passed over.
Result<std::optional<SlotPlace>> read_first_place(const View& view, QueueRow kind,
                                                  const SlotKey& key,
                                                  const OnDamage& damaged = nullptr);
/// Visits the instances that hold or wait, in their order, until `see` returns false.
Status each_slot_place(const View& view, QueueRow kind, const SlotKey& key,
                       const std::function<bool(const SlotPlace&)>& see,
                       const OnDamage& damaged = nullptr);
/// Visits the instances that hold a slot of the key and have a higher number than `after`, in the
/// order of their numbers, until `see` returns false.
Status each_slot_holder(const View& view, const SlotKey& key, uint64_t after,
                        const std::function<bool(const SlotPlace&)>& see,
                        const OnDamage& damaged = nullptr);

/// The workflows that have rows of counts.
Result<std::vector<WorkflowNumber>> workflows_with_slots(const View& view);

/// Erases the rows of a workflow, until the budget is spent; returns whether none is left.
Result<bool> purge_queues(Transaction& tx, WorkflowNumber workflow, PurgeBudget& budget);

}  // namespace millrace
