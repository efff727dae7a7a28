#include "orchestrator/store/rows/event_rows.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Since version 2 a kept event has its position, since version 3 its times.
constexpr uint8_t kKeptEventVersion = 3;

/// What follows the number in the key of a late match. The key of a fan-out is the number alone.
constexpr uint8_t kLateMatch = 1;

std::string late_match_key(uint64_t number) {
  Writer key;
  key.u64(number);
  key.u8(kLateMatch);
  return key.take();
}

std::string kept_event_prefix(const KeptEventPlace& place) {
  Writer key;
  key.u32(static_cast<uint32_t>(place.ns));
  key.id(place.type);
  return key.take();
}

std::string kept_event_key(const KeptEventPlace& place) {
  return kept_event_prefix(place) + key_of(place.number);
}

Result<KeptEventPlace> kept_event_place(std::string_view key) {
  Reader reader(key);
  KeptEventPlace place;
  place.ns = NamespaceNumber(reader.u32());
  place.type = reader.id();
  place.number = reader.u64();
  if (!reader.done() || place.number == 0 || place.number > kMostNumber) {
    return tl::unexpected(
        damaged_row(Table::kKeptEvents, key, "its key is not the key of a kept event"));
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

std::string encode(const KeptEventRecord& record) {
  Writer writer = begin_record(kKeptEventVersion);
  writer.id(record.known_as);
  writer.bytes(record.event);
  put_position(writer, record.position);
  put_time(writer, record.stamped);
  put_time(writer, record.after_timers);
  return writer.take();
}

Result<KeptEventRecord> decode_kept_event(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kKeptEventVersion);
  KeptEventRecord record;
  record.known_as = reader.id();
  record.event = get_string(reader);
  if (version >= 2) record.position = get_position(reader);
  if (version >= 3) {
    record.stamped = get_time(reader);
    record.after_timers = get_time(reader);
  }
  return end_record(reader, std::move(record), "kept event");
}

Result<Event> event_of(const KeptEventPlace& place, const KeptEventRecord& record) {
  return decode_event(Table::kKeptEvents, kept_event_key(place), record.event);
}

void write_kept_event(Transaction& tx, const KeptEventPlace& place, const KeptEventRecord& record) {
  tx.put(Table::kKeptEvents, kept_event_key(place), encode(record));
}

void erase_kept_event(Transaction& tx, const KeptEventPlace& place) {
  tx.erase(Table::kKeptEvents, kept_event_key(place));
}

Result<std::optional<KeptEventRecord>> read_kept_event(const View& view,
                                                       const KeptEventPlace& place) {
  return read(view, Table::kKeptEvents, kept_event_key(place), decode_kept_event);
}

Status each_kept_event(
    const View& view, const std::function<void(const KeptEventPlace&, const KeptEventRecord&)>& see,
    const OnDamage& damaged) {
  return walk(
      view, Table::kKeptEvents, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const KeptEventPlace place = TRY(kept_event_place(key));
        see(place, TRY(rows::decode(view, Table::kKeptEvents, key, value, decode_kept_event)));
        return true;
      },
      damaged);
}

Result<uint64_t> last_kept_event(const View& view) {
  uint64_t highest = 0;
  TRY(walk(view, Table::kKeptEvents, {}, {}, [&](std::string_view key, auto) -> Result<bool> {
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
        if (!is_late_match_key(key)) see(TRY(numbered(Table::kFanout, key)));
        return true;
      },
      damaged);
}

// Late matches.

std::string encode(const LateMatchRecord& record) {
  Writer writer = begin_record();
  writer.varint(record.starts.size());
  for (const WorkflowNumber workflow : record.starts) {
    writer.varint(static_cast<uint32_t>(workflow));
  }
  writer.varint(record.instances.size());
  for (const InstanceId& instance : record.instances) writer.id(instance.bytes);
  return writer.take();
}

Result<LateMatchRecord> decode_late_match(std::string_view bytes) {
  Reader reader = open_record(bytes);
  LateMatchRecord record;
  for (size_t left = reader.count(); left > 0; --left) {
    record.starts.push_back(WorkflowNumber(get_u32(reader)));
  }
  for (size_t left = reader.count(); left > 0; --left) {
    record.instances.push_back(InstanceId{reader.id()});
  }
  return end_record(reader, std::move(record), "late match");
}

bool is_late_match_key(std::string_view key) {
  return key.size() == sizeof(uint64_t) + 1 && static_cast<uint8_t>(key.back()) == kLateMatch;
}

Result<uint64_t> late_match_number(std::string_view key) {
  const uint64_t number = Reader(key).u64();
  if (is_late_match_key(key) && number >= 1 && number <= kMostNumber) return number;
  return tl::unexpected(
      damaged_row(Table::kFanout, key, "its key is not the number of a kept event"));
}

void write_late_match(Transaction& tx, uint64_t number, const LateMatchRecord& record) {
  tx.put(Table::kFanout, late_match_key(number), encode(record));
}

void erase_late_match(Transaction& tx, uint64_t number) {
  tx.erase(Table::kFanout, late_match_key(number));
}

Status each_late_match(const View& view,
                       const std::function<void(uint64_t number, LateMatchRecord record)>& see,
                       const OnDamage& damaged) {
  return walk(
      view, Table::kFanout, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (!is_late_match_key(key)) return true;  // each_fan_out() reports any other damaged key
        const uint64_t number = TRY(late_match_number(key));
        see(number, TRY(rows::decode(view, Table::kFanout, key, value, decode_late_match)));
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
  writer.varint(static_cast<uint32_t>(record.ns));
  writer.id(record.instance.bytes);
  put_time(writer, record.at);
  writer.bytes(record.event);
  return writer.take();
}

Result<DelayedRecord> decode_delayed(std::string_view bytes) {
  Reader reader = open_record(bytes);
  DelayedRecord record;
  record.ns = NamespaceNumber(get_u32(reader));
  record.instance.bytes = reader.id();
  record.at = get_time(reader);
  record.event = get_string(reader);
  return end_record(reader, std::move(record), "delayed event");
}

std::optional<NamespaceNumber> namespace_of_delayed(std::string_view bytes) {
  return leading_namespace(bytes, kFirstVersion);
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
  const auto see_all = [&](uint64_t number, const DelayedRecord& record) {
    see(number, record);
    return true;
  };
  return some_delayed(view, see_all, damaged);
}

Status some_delayed(const View& view,
                    const std::function<bool(uint64_t number, const DelayedRecord&)>& see,
                    const OnDamage& damaged) {
  return walk(
      view, Table::kDelayed, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const uint64_t number = TRY(numbered(Table::kDelayed, key));
        return see(number, TRY(rows::decode(view, Table::kDelayed, key, value, decode_delayed)));
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
  // rows::read() is not used: the first byte of a fingerprint can be any byte, also the one that
  // marks a sealed row.
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
