// Event rows: events that the store keeps for later. Table `recent`: those that instances which
// cannot listen yet may want; `fanout`: which of these have more targets than one batch wakes;
// `delayed`: generated events that are to be published later; `dedupe`: the fingerprints of events
// that had an effect. Events that wait for others are in group_rows.h. Reading takes any View,
// writing the Transaction. A row that is damaged is an error that names it (damage.h); walks that
// are given `damaged` pass over such rows. All decoders fail with `store.corrupt`.
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
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

// Kept events.

/// An event that is kept for instances which cannot listen yet.
struct RecentRecord {
  std::array<uint8_t, 16> known_as{};  ///< as in dedupe
  std::string event;                   ///< JSON format
};
std::string encode(const RecentRecord& record);
Result<RecentRecord> decode_recent(std::string_view bytes);

/// Those of one type stand together, in the order of their numbers.
struct RecentPlace {
  NamespaceNumber space{};
  Fingerprint type{};  ///< of the event's type
  uint64_t number = 0;
};
/// The event itself. Error: a damaged row.
Result<Event> event_of(const RecentPlace& place, const RecentRecord& record);
void write_recent(Transaction& tx, const RecentPlace& place, const RecentRecord& record);
void erase_recent(Transaction& tx, const RecentPlace& place);
/// The one of that number; nullopt: it is not kept.
Result<std::optional<RecentRecord>> read_recent(const View& view, const RecentPlace& place);
/// By namespace and type.
Status each_recent(const View& view,
                   const std::function<void(const RecentPlace&, const RecentRecord&)>& see,
                   const OnDamage& damaged = nullptr);
/// Those of that namespace and type from that number on, until `see` returns false.
Status each_recent_of_type(const View& view, const RecentPlace& from,
                           const std::function<bool(uint64_t number, const RecentRecord&)>& see,
                           const OnDamage& damaged = nullptr);
/// The highest number of a kept event; 0: none is kept.
Result<uint64_t> last_recent(const View& view);

// Fan-outs: kept events that have more targets than one batch wakes, by their numbers in `recent`.

void write_fan_out(Transaction& tx, uint64_t number);
void erase_fan_out(Transaction& tx, uint64_t number);
Status each_fan_out(const View& view, const std::function<void(uint64_t number)>& see,
                    const OnDamage& damaged = nullptr);
/// The error of a fan-out that does not fit the kept events.
Error damaged_fan_out(uint64_t number, std::string_view what);

// Delayed events, by number.

/// A generated event that is to be published later.
struct DelayedRecord {
  NamespaceNumber space{};
  InstanceId instance;  ///< whose event it is
  TimePoint at;
  std::string event;    ///< JSON format
  bool sealed = false;  ///< not in the bytes: they are sealed in their row
};
std::string encode(const DelayedRecord& record);
Result<DelayedRecord> decode_delayed(std::string_view bytes);

/// The event itself. Error: a damaged row.
Result<Event> event_of(uint64_t number, const DelayedRecord& record);
void write_delayed(Transaction& tx, uint64_t number, const DelayedRecord& record);
void erase_delayed(Transaction& tx, uint64_t number);
Result<std::optional<DelayedRecord>> read_delayed(const View& view, uint64_t number);
Status each_delayed(const View& view,
                    const std::function<void(uint64_t number, const DelayedRecord&)>& see,
                    const OnDamage& damaged = nullptr);

// Dedupe: the fingerprints of a batch's events that had an effect, under the batch's time.

void write_dedupe(Transaction& tx, TimePoint time, uint64_t sequence,
                  const std::vector<Fingerprint>& events);
/// Empty: there is no such row.
Result<std::vector<Fingerprint>> read_dedupe(const View& view, TimePoint time, uint64_t sequence);
void erase_dedupe(Transaction& tx, TimePoint time, uint64_t sequence);
Status each_dedupe(const View& view,
                   const std::function<void(TimePoint time, uint64_t sequence,
                                            const std::vector<Fingerprint>& events)>& see,
                   const OnDamage& damaged = nullptr);

}  // namespace millrace
