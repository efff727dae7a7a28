#include "orchestrator/store/rows/event_rows.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

std::string recent_prefix(const RecentPlace& place) {
  Writer key;
  key.u32(static_cast<uint32_t>(place.space));
  key.id(place.type);
  return key.take();
}

std::string recent_key(const RecentPlace& place) {
  return recent_prefix(place) + key_of(place.number);
}

Result<RecentPlace> recent_place(std::string_view key) {
  Reader reader(key);
  RecentPlace place;
  place.space = NamespaceNumber(reader.u32());
  place.type = reader.id();
  place.number = reader.u64();
  if (!reader.done() || place.number == 0 || place.number > kMostNumber) {
    return tl::unexpected(damaged_row(Table::kRecent, key, "its key is not one of a kept event"));
  }
  return place;
}

std::string dedupe_key(TimePoint time, uint64_t sequence) {
  return key_of(static_cast<uint64_t>(to_millis(time))) + key_of(sequence);
}

Result<std::vector<Fingerprint>> decode_dedupe(std::string_view value) {
  Reader reader(value);
  std::vector<Fingerprint> events(value.size() / sizeof(Fingerprint));
  for (Fingerprint& event : events) event = reader.id();
  if (!reader.done()) return fail("store.corrupt", "a dedupe row is damaged");
  return events;
}

}  // namespace

// Kept events.

std::string encode(const RecentRecord& record) {
  Writer writer = begin_record();
  writer.id(record.known_as);
  writer.bytes(record.event);
  return writer.take();
}

Result<RecentRecord> decode_recent(std::string_view bytes) {
  Reader reader = open_record(bytes);
  RecentRecord record;
  record.known_as = reader.id();
  record.event = get_string(reader);
  return end_record(reader, std::move(record), "kept event");
}

Result<Event> event_of(const RecentPlace& place, const RecentRecord& record) {
  return decode_event(Table::kRecent, recent_key(place), record.event);
}

void write_recent(Transaction& tx, const RecentPlace& place, const RecentRecord& record) {
  tx.put(Table::kRecent, recent_key(place), encode(record));
}

void erase_recent(Transaction& tx, const RecentPlace& place) {
  tx.erase(Table::kRecent, recent_key(place));
}

Result<std::optional<RecentRecord>> read_recent(const View& view, const RecentPlace& place) {
  return read(view, Table::kRecent, recent_key(place), decode_recent);
}

Status each_recent(const View& view,
                   const std::function<void(const RecentPlace&, const RecentRecord&)>& see,
                   const OnDamage& damaged) {
  return walk(
      view, Table::kRecent, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const RecentPlace place = TRY(recent_place(key));
        see(place, TRY(rows::decode(view, Table::kRecent, key, value, decode_recent)));
        return true;
      },
      damaged);
}

Status each_recent_of_type(const View& view, const RecentPlace& from,
                           const std::function<bool(uint64_t number, const RecentRecord&)>& see,
                           const OnDamage& damaged) {
  return walk(
      view, Table::kRecent, recent_prefix(from), recent_key(from),
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const RecentPlace place = TRY(recent_place(key));
        return see(place.number,
                   TRY(rows::decode(view, Table::kRecent, key, value, decode_recent)));
      },
      damaged);
}

Result<uint64_t> last_recent(const View& view) {
  uint64_t highest = 0;
  TRY(walk(view, Table::kRecent, {}, {}, [&](std::string_view key, auto) -> Result<bool> {
    const size_t prefix = std::min(key.size(), sizeof(uint32_t) + sizeof(Fingerprint));
    highest = std::max(highest, number_of(key.substr(prefix)));
    return true;
  }));
  return highest;
}

// Fan-outs.

void write_fan_out(Transaction& tx, uint64_t number) { tx.put(Table::kFanout, key_of(number), ""); }

void erase_fan_out(Transaction& tx, uint64_t number) { tx.erase(Table::kFanout, key_of(number)); }

Status each_fan_out(const View& view, const std::function<void(uint64_t number)>& see,
                    const OnDamage& damaged) {
  return walk(
      view, Table::kFanout, {}, {},
      [&](std::string_view key, auto) -> Result<bool> {
        see(TRY(numbered(Table::kFanout, key)));
        return true;
      },
      damaged);
}

Error damaged_fan_out(uint64_t number, std::string_view what) {
  return damaged_row(Table::kFanout, key_of(number), what);
}

// Delayed events.

std::string encode(const DelayedRecord& record) {
  Writer writer = begin_record();
  writer.varint(static_cast<uint32_t>(record.space));
  writer.id(record.instance.bytes);
  put_time(writer, record.at);
  writer.bytes(record.event);
  return writer.take();
}

Result<DelayedRecord> decode_delayed(std::string_view bytes) {
  Reader reader = open_record(bytes);
  DelayedRecord record;
  record.space = NamespaceNumber(get_u32(reader));
  record.instance.bytes = reader.id();
  record.at = get_time(reader);
  record.event = get_string(reader);
  return end_record(reader, std::move(record), "delayed event");
}

Result<Event> event_of(uint64_t number, const DelayedRecord& record) {
  return decode_event(Table::kDelayed, key_of(number), record.event);
}

void write_delayed(Transaction& tx, uint64_t number, const DelayedRecord& record) {
  rows::put(tx, Table::kDelayed, key_of(number), encode(record), record.sealed);
}

void erase_delayed(Transaction& tx, uint64_t number) { tx.erase(Table::kDelayed, key_of(number)); }

Result<std::optional<DelayedRecord>> read_delayed(const View& view, uint64_t number) {
  return read(view, Table::kDelayed, key_of(number), decode_delayed);
}

Status each_delayed(const View& view,
                    const std::function<void(uint64_t number, const DelayedRecord&)>& see,
                    const OnDamage& damaged) {
  return walk(
      view, Table::kDelayed, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const uint64_t number = TRY(numbered(Table::kDelayed, key));
        see(number, TRY(rows::decode(view, Table::kDelayed, key, value, decode_delayed)));
        return true;
      },
      damaged);
}

// Dedupe.

void write_dedupe(Transaction& tx, TimePoint time, uint64_t sequence,
                  const std::vector<Fingerprint>& events) {
  Writer value;
  for (const Fingerprint& event : events) value.id(event);
  tx.put(Table::kDedupe, dedupe_key(time, sequence), value.take());
}

Result<std::vector<Fingerprint>> read_dedupe(const View& view, TimePoint time, uint64_t sequence) {
  // Not through rows::read: any byte may be the first one, that of a seal too.
  const auto bytes = view.get(Table::kDedupe, dedupe_key(time, sequence));
  TRY(view.status());
  return bytes ? decode_dedupe(*bytes) : std::vector<Fingerprint>();
}

void erase_dedupe(Transaction& tx, TimePoint time, uint64_t sequence) {
  tx.erase(Table::kDedupe, dedupe_key(time, sequence));
}

Status each_dedupe(const View& view,
                   const std::function<void(TimePoint time, uint64_t sequence,
                                            const std::vector<Fingerprint>& events)>& see,
                   const OnDamage& damaged) {
  return walk(
      view, Table::kDedupe, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        Reader place(key);
        const TimePoint time = from_millis(static_cast<int64_t>(place.u64()));
        const uint64_t sequence = place.u64();
        if (!place.done() || time < kFirstTime || time > kLastTime) {
          return tl::unexpected(
              damaged_row(Table::kDedupe, key, "its key is not a time and a sequence"));
        }
        auto events = decode_dedupe(value);
        if (!events) {
          return tl::unexpected(damaged_row(Table::kDedupe, key, events.error().message));
        }
        see(time, sequence, *events);
        return true;
      },
      damaged);
}

}  // namespace millrace
