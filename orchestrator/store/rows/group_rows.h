// Group rows: events that wait for others to start an instance together (eventsAnd). Table
// `groups`: for each group a row of counts, for each waiting event a row in the queue of its entry,
// and one that finds it by its number. Reading takes any View, writing the Transaction. A row that
// is damaged is an error that names it (damage.h); walks that are given `damaged` pass over such
// rows. All decoders fail with `store.corrupt`, naming the kind of record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct PurgeBudget;

/// The kinds of rows in the table, by the first byte of the key.
// On disk: never renumber.
enum class GroupRow : uint8_t {
  kCounts = 1,  ///< workflow, group: how many events wait in each entry
  kEvent = 2,   ///< workflow, group, entry, number: a waiting event
  kNumber = 3,  ///< number: the key of that event's row
};

/// How many events wait in each entry of a group.
std::string encode_counts(const std::vector<uint32_t>& waiting);
Result<std::vector<uint32_t>> decode_counts(std::string_view bytes);

/// An event that waits in a group.
struct GroupedRecord {
  uint64_t position = 0;             ///< in the stream
  std::optional<TimePoint> expires;  ///< end of its lifespan
  std::string event;                 ///< JSON format
};
std::string encode(const GroupedRecord& record);
Result<GroupedRecord> decode_grouped(std::string_view bytes);

/// Which group, and which of its queues.
struct GroupQueue {
  WorkflowNumber workflow{};
  Fingerprint group{};  ///< of the correlated values
  uint16_t entry = 0;
};
struct GroupedEvent {
  GroupQueue queue;
  uint64_t number = 0;  ///< in the order of coming
  GroupedRecord record;
};

/// The event itself. Error: a damaged row.
Result<Event> event_of(const GroupedEvent& event);

// Groups.

/// nullopt: nothing waits in that group.
Result<std::optional<std::vector<uint32_t>>> read_counts(const View& view, WorkflowNumber workflow,
                                                         const Fingerprint& group);
/// Every group of a workflow, by fingerprint, from the one behind `behind` on, with what waits for
/// each entry; until `see` returns false.
Status each_group(const View& view, WorkflowNumber workflow,
                  const std::optional<Fingerprint>& behind,
                  const std::function<Result<bool>(const Fingerprint& group,
                                                   const std::vector<uint32_t>& waiting)>& see);
/// All zero erases the row.
void write_counts(Transaction& tx, WorkflowNumber workflow, const Fingerprint& group,
                  const std::vector<uint32_t>& waiting);
/// The error of a damaged row of counts.
Error damaged_counts(WorkflowNumber workflow, const Fingerprint& group, std::string_view what);
/// How many events wait for each of so many entries, by their own rows.
Result<std::vector<uint32_t>> count_grouped(const View& view, WorkflowNumber workflow,
                                            const Fingerprint& group, size_t entries,
                                            const OnDamage& damaged);

// Events.

void write_grouped(Transaction& tx, const GroupedEvent& event);
void erase_grouped(Transaction& tx, const GroupQueue& queue, uint64_t number);
Result<std::optional<GroupedEvent>> read_grouped(const View& view, uint64_t number);
/// The event that has waited longest in that queue.
Result<std::optional<GroupedEvent>> read_first_grouped(const View& view, const GroupQueue& queue,
                                                       const OnDamage& damaged = nullptr);
Status each_grouped(const View& view, const std::function<void(const GroupedEvent&)>& see,
                    const OnDamage& damaged = nullptr);
/// The highest number of a waiting event; 0: none waits.
Result<uint64_t> last_grouped(const View& view);

/// Erases grouped events of a workflow up to the number `up_to`, and the counts of their groups, as
/// many as fit into the budget; `see` is shown each first, with the event as it decodes, and
/// returns whether it may go. Returns whether these were all; if not, `at` is where to go on.
Result<bool> close_groups(
    Transaction& tx, WorkflowNumber workflow, uint64_t up_to, std::string& at, PurgeBudget& budget,
    const std::function<Result<bool>(const GroupedEvent&, const Event& event)>& see,
    const OnDamage& damaged);

}  // namespace millrace
