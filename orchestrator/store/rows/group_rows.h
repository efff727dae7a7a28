// Group rows: events that wait in groups until together they start an instance (eventsAnd). Table
// `groups`: for each group a row of counts; for each waiting event a row in the queue of its entry,
// and a row that maps the event's number to the key of the row in the queue. Functions that read
// take any View, functions that write the Transaction. A damaged row gives an error that names it
// (damage.h); walks with `damaged` skip such rows. All decoders fail with `store.corrupt` and name
// the kind of record.
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
#include "model/cursor.h"
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
  kNumber = 3,  ///< number: the key of the row kEvent with this number
};

/// The bytes of a row of counts: how many events wait in each entry of a group.
std::string encode_counts(const std::vector<uint32_t>& waiting);
Result<std::vector<uint32_t>> decode_counts(std::string_view bytes);

/// An event that waits in a group.
struct GroupedRecord {
  EventPosition position;
  std::optional<TimePoint> expires;  ///< the end of the event's lifespan
  std::string event;                 ///< JSON format
};
std::string encode(const GroupedRecord& record);
Result<GroupedRecord> decode_grouped(std::string_view bytes);

/// The queue of one entry of a group.
struct GroupQueue {
  WorkflowNumber workflow{};
  Fingerprint group{};  ///< the fingerprint of the group's correlation
  uint16_t entry = 0;
};
struct GroupedEvent {
  GroupQueue queue;
  uint64_t number = 0;  ///< assigned in the order of arrival
  GroupedRecord record;
};

/// The decoded event. Error: a damaged row.
Result<Event> event_of(const GroupedEvent& event);

// Groups.

/// How many events wait in each entry of a group; nullopt: none waits in any entry.
Result<std::optional<std::vector<uint32_t>>> read_counts(const View& view, WorkflowNumber workflow,
                                                         const Fingerprint& group);
/// Visits the groups of a workflow after `behind`, in the order of their fingerprints, until `see`
/// returns false. `see` receives the number of events that wait in each entry.
Status each_group(const View& view, WorkflowNumber workflow,
                  const std::optional<Fingerprint>& behind,
                  const std::function<Result<bool>(const Fingerprint& group,
                                                   const std::vector<uint32_t>& waiting)>& see);
/// Writes the counts of a group; erases the row if all counts are zero.
void write_counts(Transaction& tx, WorkflowNumber workflow, const Fingerprint& group,
                  const std::vector<uint32_t>& waiting);
/// The error of a damaged row of counts.
Error damaged_counts(WorkflowNumber workflow, const Fingerprint& group, std::string_view what);
/// Counts the rows of the events that wait in each of `entries` entries of a group, without use of
/// the row of counts.
Result<std::vector<uint32_t>> count_grouped(const View& view, WorkflowNumber workflow,
                                            const Fingerprint& group, size_t entries,
                                            const OnDamage& damaged);

// Events.

void write_grouped(Transaction& tx, const GroupedEvent& event);
void erase_grouped(Transaction& tx, const GroupQueue& queue, uint64_t number);
Result<std::optional<GroupedEvent>> read_grouped(const View& view, uint64_t number);
/// An event of a group whose text was decoded.
struct DecodedGrouped {
  GroupedEvent row;
  Event event;
};
/// The event that has waited longest in that queue; nullopt: none waits.
Result<std::optional<DecodedGrouped>> read_first_grouped(const View& view, const GroupQueue& queue,
                                                         const OnDamage& damaged = nullptr);
/// The bytes of the rows of the first events of all queues of a group but that of `last`, the entry
/// of the event that completes it. The rows are not decoded.
Result<size_t> bytes_beside(const View& view, const GroupQueue& last, size_t entries);
Status each_grouped(const View& view, const std::function<void(const GroupedEvent&)>& see,
                    const OnDamage& damaged = nullptr);
/// Visits the waiting events of a workflow, queue by queue, until `see` returns false.
Status some_grouped(const View& view, WorkflowNumber workflow,
                    const std::function<bool(const GroupedEvent&)>& see,
                    const OnDamage& damaged = nullptr);
/// The highest number of a waiting event; 0: none waits.
Result<uint64_t> last_grouped(const View& view);

/// Erases the grouped events of a workflow up to the number `up_to`, and the counts of their
/// groups, as many as the budget allows. Before each erase, `see` receives the grouped event and
/// its decoded event, and returns whether it may be erased. Returns whether close_groups() reached
/// the end; if not, `at` is the key from which to continue.
Result<bool> close_groups(
    Transaction& tx, WorkflowNumber workflow, uint64_t up_to, std::string& at, PurgeBudget& budget,
    const std::function<Result<bool>(const GroupedEvent&, const Event& event)>& see,
    const OnDamage& damaged);

}  // namespace millrace
