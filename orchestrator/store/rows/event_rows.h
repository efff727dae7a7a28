// Event rows: events that the store holds for later. Table `recent`: kept events, for instances
// that cannot listen yet; `fanout`: the kept events that match more instances than one batch may
// wake, and those whose matches are not all decided; `delayed`: generated events that are published
// later; `dedupe`: the fingerprints of events that had an effect. Events that wait in groups are in
// group_rows.h. Functions that read take any View, functions that write the Transaction. A damaged
// row gives an error that names it (damage.h); walks with `damaged` skip such rows. All decoders
// fail with `store.corrupt`.
#pragma once

#include <array>
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

// Kept events.

/// A kept event: stored for instances that cannot listen yet.
struct KeptEventRecord {
  std::array<uint8_t, 16> known_as{};  ///< fingerprint of source and id, as in table `dedupe`
  std::string event;                   ///< JSON format
  EventPosition position;              ///< of the event in its stream
  TimePoint stamped;                   ///< when the broker stored the event
  /// The timers with a deadline up to this time came before the event: the engine time at which the
  /// event was applied, or `stamped` if that is earlier.
  TimePoint after_timers;
};
std::string encode(const KeptEventRecord& record);
Result<KeptEventRecord> decode_kept_event(std::string_view bytes);

/// The key of a kept event. The kept events of one type are adjacent, in the order of their
/// numbers.
struct KeptEventPlace {
  NamespaceNumber ns{};
  Fingerprint type{};  ///< the fingerprint of the event's type
  uint64_t number = 0;
};
/// The decoded event. Error: a damaged row.
Result<Event> event_of(const KeptEventPlace& place, const KeptEventRecord& record);
void write_kept_event(Transaction& tx, const KeptEventPlace& place, const KeptEventRecord& record);
void erase_kept_event(Transaction& tx, const KeptEventPlace& place);
/// The kept event at that place; nullopt: there is none.
Result<std::optional<KeptEventRecord>> read_kept_event(const View& view,
                                                       const KeptEventPlace& place);
/// Visits all kept events, by namespace, type and number.
Status each_kept_event(
    const View& view, const std::function<void(const KeptEventPlace&, const KeptEventRecord&)>& see,
    const OnDamage& damaged = nullptr);
/// The highest number of a kept event; 0: there is none.
Result<uint64_t> last_kept_event(const View& view);

// Fan-outs: kept events that match more instances than one batch may wake, by their numbers in
// `recent`.

void write_fan_out(Transaction& tx, uint64_t number);
void erase_fan_out(Transaction& tx, uint64_t number);
Status each_fan_out(const View& view, const std::function<void(uint64_t number)>& see,
                    const OnDamage& damaged = nullptr);

// Late matches: kept events whose matches are not all decided, by their numbers in `recent`.

/// For what the match of an event is still to be decided.
struct LateMatchRecord {
  std::vector<WorkflowNumber> starts;  ///< the workflows whose start the event may match; ascending
  std::vector<InstanceId>
      instances;  ///< the instances that may have to get the event or later ones

  bool empty() const { return starts.empty() && instances.empty(); }
  bool operator==(const LateMatchRecord&) const = default;
};
std::string encode(const LateMatchRecord& record);
Result<LateMatchRecord> decode_late_match(std::string_view bytes);
/// Whether a key of `fanout` is the key of a late match; otherwise it is that of a fan-out.
bool is_late_match_key(std::string_view key);
/// The number of the kept event in the key of a late match. Error: a damaged row.
Result<uint64_t> late_match_number(std::string_view key);
void write_late_match(Transaction& tx, uint64_t number, const LateMatchRecord& record);
void erase_late_match(Transaction& tx, uint64_t number);
Status each_late_match(const View& view,
                       const std::function<void(uint64_t number, LateMatchRecord record)>& see,
                       const OnDamage& damaged = nullptr);

/// The error of a fan-out or a late match that contradicts the kept events.
Error damaged_fan_out(uint64_t number, std::string_view what);

// Delayed events, by number.

/// A delayed event.
struct DelayedRecord {
  NamespaceNumber ns{};
  InstanceId instance;  ///< the instance that generated the event
  TimePoint at;         ///< when to publish it
  std::string event;    ///< JSON format
  bool sealed = false;  ///< whether the row is sealed; not in the encoded bytes
};
std::string encode(const DelayedRecord& record);
Result<DelayedRecord> decode_delayed(std::string_view bytes);
/// The namespace of a record, which may be damaged after that field; nullopt: it is not known.
std::optional<NamespaceNumber> namespace_of_delayed(std::string_view bytes);

/// The decoded event. Error: a damaged row.
Result<Event> event_of(uint64_t number, const DelayedRecord& record);
void write_delayed(Transaction& tx, uint64_t number, const DelayedRecord& record);
void erase_delayed(Transaction& tx, uint64_t number);
Result<std::optional<DelayedRecord>> read_delayed(const View& view, uint64_t number);
Status each_delayed(const View& view,
                    const std::function<void(uint64_t number, const DelayedRecord&)>& see,
                    const OnDamage& damaged = nullptr);
/// Visits the delayed events in the order of their numbers until `see` returns false.
Status some_delayed(const View& view,
                    const std::function<bool(uint64_t number, const DelayedRecord&)>& see,
                    const OnDamage& damaged = nullptr);

// Dedupe: a row for each batch, with the fingerprints of those events that had an effect. The key
// is the time of the batch's last event and the sequence of that event in the stream.

void write_dedupe(Transaction& tx, TimePoint time, uint64_t sequence,
                  const std::vector<Fingerprint>& events);
/// The fingerprints of one row; empty if the row does not exist.
Result<std::vector<Fingerprint>> read_dedupe(const View& view, TimePoint time, uint64_t sequence);
void erase_dedupe(Transaction& tx, TimePoint time, uint64_t sequence);
Status each_dedupe(const View& view,
                   const std::function<void(TimePoint time, uint64_t sequence,
                                            const std::vector<Fingerprint>& events)>& see,
                   const OnDamage& damaged = nullptr);

}  // namespace millrace
