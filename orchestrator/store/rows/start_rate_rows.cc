#include "orchestrator/store/rows/start_rate_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

void put_place(Writer& key, const StartRatePlace& place) {
  key.u32(static_cast<uint32_t>(place.workflow));
  key.id(place.key);
}

StartRatePlace get_place(Reader& reader) {
  StartRatePlace place;
  place.workflow = WorkflowNumber(reader.u32());
  place.key = reader.id();
  return place;
}

std::string place_key(const StartRatePlace& place) {
  Writer key;
  key.raw(kStartRateKey);
  put_place(key, place);
  return key.take();
}

std::string start_rates_key(NamespaceNumber ns) {
  return std::string(kStartRatesKey) + ns_prefix(ns);
}

/// Changes the number of the rows of a namespace. A number that would fall below 0 is damaged, and
/// stays 0.
Status count_rows(Transaction& tx, NamespaceNumber ns, bool is_one_more) {
  const uint64_t before = TRY(start_rates_of(tx, ns));
  if (!is_one_more && before <= 1) {
    tx.erase(Table::kMeta, start_rates_key(ns));
    return {};
  }
  Writer writer = begin_record();
  writer.varint(is_one_more ? before + 1 : before - 1);
  tx.put(Table::kMeta, start_rates_key(ns), writer.take());
  return {};
}

/// Erases a row that has ended, or lists it anew, at the time that is returned.
Result<std::optional<TimePoint>> sweep_one(Transaction& tx, TimePoint now,
                                           const StartRateEnd& end) {
  const auto read = read_start_rate(tx, end.place);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  // `millrace verify` finds a damaged row; the next start for its key replaces it.
  if (!read || !*read || (*read)->listed != end.listed) return std::optional<TimePoint>();
  StartRateRecord record = **read;
  if (record.ends <= now) {
    tx.erase(Table::kMeta, place_key(end.place));
    TRY(count_rows(tx, record.ns, false));
    return std::optional<TimePoint>();
  }
  record.listed = record.ends;
  tx.put(Table::kMeta, start_rate_end_key({record.listed, end.place}), "");
  tx.put(Table::kMeta, place_key(end.place), encode(record));
  return std::optional(record.listed);
}

}  // namespace

StartRatePlace throttle_rate_place(std::string_view id_key, WorkflowNumber workflow,
                                   const Fingerprint& key) {
  const std::string_view bytes(reinterpret_cast<const char*>(key.data()), key.size());
  return {workflow, keyed_fingerprint(id_key, {"throttle", bytes})};
}

StartRatePlace call_rate_place(std::string_view id_key, NamespaceNumber ns,
                               const Fingerprint& key) {
  const std::string space = ns_prefix(ns);
  const std::string_view bytes(reinterpret_cast<const char*>(key.data()), key.size());
  return {WorkflowNumber(0), keyed_fingerprint(id_key, {"call-throttle", space, bytes})};
}

std::string encode(const StartRateRecord& record) {
  Writer writer = begin_record();
  writer.varint(static_cast<uint32_t>(record.ns));
  put_time(writer, record.ends);
  put_time(writer, record.listed);
  writer.varint(record.use.entries.size());
  for (const RateEntry& entry : record.use.entries) {
    put_time(writer, entry.first);
    put_duration(writer, entry.last - entry.first);
    writer.varint(entry.count);
  }
  return writer.take();
}

Result<StartRateRecord> decode_start_rate(std::string_view bytes) {
  Reader reader = open_record(bytes);
  StartRateRecord record;
  record.ns = NamespaceNumber(get_u32(reader));
  record.ends = get_time(reader);
  record.listed = get_time(reader);
  // No key of a row `start-rate-end/` has a time before 1970.
  const bool is_listed = record.listed >= TimePoint() && record.listed <= record.ends;
  if (record.ns == NamespaceNumber(0) || !is_listed) reader.fail();
  const size_t entries = reader.count();
  if (entries == 0 || entries > kMostRateEntries) reader.fail();
  for (size_t left = entries; left > 0 && reader.ok(); --left) {
    RateEntry entry;
    entry.first = get_time(reader);
    entry.last = get_time_from(reader, entry.first);
    entry.count = get_u32(reader);
    if (entry.count == 0 || entry.last < entry.first) reader.fail();
    record.use.entries.push_back(entry);
  }
  return end_record(reader, std::move(record), "start rate");
}

Result<std::optional<StartRateRecord>> read_start_rate(const View& view,
                                                       const StartRatePlace& place) {
  return read(view, Table::kMeta, place_key(place), decode_start_rate);
}

Status write_start_rate(Transaction& tx, const StartRatePlace& place, const StartRateRecord& record,
                        bool is_new) {
  tx.put(Table::kMeta, place_key(place), encode(record));
  if (!is_new) return {};
  tx.put(Table::kMeta, start_rate_end_key({record.listed, place}), "");
  return count_rows(tx, record.ns, true);
}

Result<uint64_t> start_rates_of(const View& view, NamespaceNumber ns) {
  const auto count = read(view, Table::kMeta, start_rates_key(ns), decode_start_rates);
  if (!count && !is_damaged_row(count.error())) return tl::unexpected(count.error());
  return count ? count->value_or(0) : 0;
}

Result<std::optional<TimePoint>> sweep_start_rates(Transaction& tx, TimePoint now, size_t most) {
  std::vector<std::pair<std::string, std::optional<StartRateEnd>>> due;
  std::optional<TimePoint> left;
  tx.scan(Table::kMeta, kStartRateEndKey, [&](std::string_view key, auto) {
    const auto end = start_rate_end(key);
    if (end && (end->listed > now || due.size() == most)) {
      left = end->listed;
      return false;
    }
    due.emplace_back(key, end);
    return due.size() <= most;
  });
  TRY(tx.status());
  for (const auto& [key, end] : due) {
    tx.erase(Table::kMeta, key);
    if (!end) continue;
    const auto again = TRY(sweep_one(tx, now, *end));
    if (again) left = std::min(left.value_or(*again), *again);
  }
  return left;
}

Result<uint64_t> ended_start_rates_of(const View& view, NamespaceNumber ns, TimePoint now,
                                      size_t most) {
  std::vector<StartRateEnd> due;
  size_t looked = 0;
  view.scan(Table::kMeta, kStartRateEndKey, [&](std::string_view key, auto) {
    const auto end = start_rate_end(key);
    if ((end && end->listed > now) || looked == most) return false;
    ++looked;
    if (end) due.push_back(*end);
    return true;
  });
  TRY(view.status());
  uint64_t ended = 0;
  for (const StartRateEnd& end : due) {
    const auto read = read_start_rate(view, end.place);
    if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
    if (!read || !*read || (*read)->listed != end.listed) continue;
    if ((*read)->ns == ns && (*read)->ends <= now) ++ended;
  }
  return ended;
}

std::optional<StartRatePlace> start_rate_place(std::string_view key) {
  if (!key.starts_with(kStartRateKey)) return std::nullopt;
  Reader reader(key.substr(kStartRateKey.size()));
  const StartRatePlace place = get_place(reader);
  return reader.done() ? std::optional(place) : std::nullopt;
}

std::optional<StartRateEnd> start_rate_end(std::string_view key) {
  if (!key.starts_with(kStartRateEndKey)) return std::nullopt;
  Reader reader(key.substr(kStartRateEndKey.size()));
  const uint64_t listed = reader.u64();
  if (listed > static_cast<uint64_t>(to_millis(kLastTime))) return std::nullopt;
  const StartRatePlace place = get_place(reader);
  if (!reader.done()) return std::nullopt;
  return StartRateEnd{from_millis(static_cast<int64_t>(listed)), place};
}

std::string start_rate_end_key(const StartRateEnd& end) {
  Writer key;
  key.raw(kStartRateEndKey);
  key.u64(static_cast<uint64_t>(to_millis(end.listed)));
  put_place(key, end.place);
  return key.take();
}

std::optional<NamespaceNumber> namespace_of_start_rates(std::string_view key) {
  if (!key.starts_with(kStartRatesKey)) return std::nullopt;
  Reader reader(key.substr(kStartRatesKey.size()));
  const uint32_t number = reader.u32();
  if (!reader.done() || number == 0) return std::nullopt;
  return NamespaceNumber(number);
}

Result<uint64_t> decode_start_rates(std::string_view bytes) {
  Reader reader = open_record(bytes);
  const uint64_t count = get_number(reader);
  if (count == 0) reader.fail();
  return end_record(reader, count, "number of start rates");
}

}  // namespace millrace
