#include "orchestrator/store/rows/pending_start_rows.h"

#include <utility>

#include "base/codec.h"
#include "language/own_policy.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/start_rate_rows.h"

namespace millrace {

using namespace rows;

namespace {

/// The version of a start that has a batch; others have the first version.
constexpr uint8_t kVersionOfBatches = 2;

void put_start_batch(Writer& writer, const PendingBatch& batch) {
  writer.varint(batch.inputs);
  writer.varint(batch.bytes);
  writer.boolean(batch.is_over);
}

PendingBatch get_start_batch(Reader& reader) {
  PendingBatch batch;
  batch.inputs = get_u32(reader);
  batch.bytes = get_number(reader);
  batch.is_over = reader.boolean();
  if (batch.inputs == 0) reader.fail();
  return batch;
}

void put_pending_place(Writer& key, const PendingStartPlace& place) {
  key.u32(static_cast<uint32_t>(place.ns));
  key.u32(static_cast<uint32_t>(place.workflow));
  key.id(place.key);
}

PendingStartPlace get_pending_place(Reader& reader) {
  PendingStartPlace place;
  place.ns = NamespaceNumber(reader.u32());
  place.workflow = WorkflowNumber(reader.u32());
  place.key = reader.id();
  if (place.ns == NamespaceNumber(0) || place.workflow == WorkflowNumber(0)) reader.fail();
  return place;
}

std::string pending_start_key(const PendingStartPlace& place) {
  Writer key;
  key.raw(kPendingStartKey);
  put_pending_place(key, place);
  return key.take();
}

std::string pending_starts_key(NamespaceNumber ns) {
  return std::string(kPendingStartsKey) + ns_prefix(ns);
}

Status count_pending(Transaction& tx, NamespaceNumber ns, bool is_one_more) {
  const uint64_t before = TRY(pending_starts_of(tx, ns));
  if (!is_one_more && before <= 1) {
    tx.erase(Table::kMeta, pending_starts_key(ns));
    return {};
  }
  Writer writer = begin_record();
  writer.varint(is_one_more ? before + 1 : before - 1);
  tx.put(Table::kMeta, pending_starts_key(ns), writer.take());
  return {};
}

/// The instance that will start, from the plain value of a row; nullopt: the row is damaged.
std::optional<InstanceId> pending_instance_in(std::string_view bytes) {
  Reader reader(bytes);
  read_version(reader, kVersionOfBatches);
  for (int times = 0; times < 3; ++times) get_time(reader);
  InstanceId id;
  id.bytes = reader.id();
  return reader.ok() ? std::optional(id) : std::nullopt;
}

}  // namespace

std::string encode(const PendingStart& start) {
  Writer writer = begin_record(start.batch ? kVersionOfBatches : kFirstVersion);
  put_time(writer, start.first);
  put_time(writer, start.at);
  put_time(writer, start.listed);
  writer.id(start.id.bytes);
  writer.bytes(start.input.text());
  writer.bytes(start.how.text());
  writer.varint(start.hops);
  writer.varint(start.depth);
  put_optional(writer, start.caller, put_caller);
  writer.bytes(start.idempotency_key);
  writer.bytes(start.own_policy);
  put_optional(writer, start.execution_from, put_time);
  writer.bytes(start.traceparent);
  writer.bytes(start.correlation);
  writer.bytes(start.start_event.text());
  put_taken(writer, start.consumed);
  if (start.batch) put_start_batch(writer, *start.batch);
  return writer.take();
}

Result<PendingStart> decode_pending_start(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kVersionOfBatches);
  PendingStart start;
  start.first = get_time(reader);
  start.at = get_time(reader);
  start.listed = get_time(reader);
  start.id.bytes = reader.id();
  start.input = get_json(reader);
  start.how = get_json(reader);
  // The revision that starts is added to it.
  if (!start.how.is_null() && !start.how.is_object()) reader.fail();
  start.hops = get_u32(reader);
  start.depth = get_u32(reader);
  start.caller = get_optional(reader, get_caller);
  start.idempotency_key = get_string(reader);
  start.own_policy = get_string(reader);
  if (!start.own_policy.empty() && !parse_own_policy(start.own_policy)) reader.fail();
  start.execution_from = get_optional(reader, get_time);
  start.traceparent = get_string(reader);
  start.correlation = get_string(reader);
  start.start_event = get_json(reader);
  start.consumed = get_taken(reader);
  if (version == kVersionOfBatches) start.batch = get_start_batch(reader);
  // No key of a row `pending-start-at/` has a time before 1970.
  if (start.listed > start.at || start.listed < TimePoint()) reader.fail();
  return end_record(reader, std::move(start), "pending start");
}

Result<std::optional<PendingStart>> read_pending_start(const View& view,
                                                       const PendingStartPlace& place) {
  return read(view, Table::kMeta, pending_start_key(place), decode_pending_start);
}

Status write_pending_start(Transaction& tx, const PendingStartPlace& place,
                           const PendingStart& start, std::optional<TimePoint> before) {
  rows::put(tx, Table::kMeta, pending_start_key(place), encode(start), start.sealed);
  if (before == start.listed) return {};
  if (before) tx.erase(Table::kMeta, listed_start_key({*before, place}));
  tx.put(Table::kMeta, listed_start_key({start.listed, place}), "");
  return before ? Status() : count_pending(tx, place.ns, true);
}

Status erase_pending_start(Transaction& tx, const PendingStartPlace& place, TimePoint listed) {
  tx.erase(Table::kMeta, pending_start_key(place));
  tx.erase(Table::kMeta, listed_start_key({listed, place}));
  return count_pending(tx, place.ns, false);
}

Status each_pending_start(
    const View& view, NamespaceNumber ns, std::optional<WorkflowNumber> workflow,
    const std::optional<PendingStartPlace>& behind,
    const std::function<bool(const PendingStartPlace& place, const PendingStart& start)>& see,
    const OnDamage& damaged) {
  const std::string prefix =
      std::string(kPendingStartKey) + ns_prefix(ns) + (workflow ? workflow_prefix(*workflow) : "");
  const std::string from = behind ? pending_start_key(*behind) + '\0' : "";
  return walk(
      view, Table::kMeta, prefix, from,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const auto place = pending_start_place(key);
        if (!place) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its key is not that of a pending start"));
        }
        return see(*place, TRY(rows::decode(view, Table::kMeta, key, value, decode_pending_start)));
      },
      damaged);
}

Result<PendingSearch> find_pending_start(const View& view, NamespaceNumber ns, const InstanceId& id,
                                         const PendingSearchBounds& bounds) {
  PendingSearch search;
  size_t looked = 0;
  size_t opened_bytes = 0;
  const auto instance_of = [&](std::string_view key,
                               std::string_view value) -> std::optional<InstanceId> {
    if (!Seal::is_sealed(value)) return pending_instance_in(value);
    opened_bytes += value.size();
    const auto opened = view.seal().open(value, seal_context(Table::kMeta, key));
    return opened ? pending_instance_in(*opened) : std::nullopt;
  };
  view.scan(Table::kMeta, std::string(kPendingStartKey) + ns_prefix(ns),
            [&](std::string_view key, std::string_view value) {
              search.is_complete = looked < bounds.rows && opened_bytes < bounds.sealed_bytes;
              if (!search.is_complete) return false;
              ++looked;
              if (instance_of(key, value) == id) search.place = pending_start_place(key);
              return !search.place;
            });
  TRY(view.status());
  return search;
}

Result<uint64_t> pending_starts_of(const View& view, NamespaceNumber ns) {
  const auto count = read(view, Table::kMeta, pending_starts_key(ns), decode_pending_starts);
  if (!count && !is_damaged_row(count.error())) return tl::unexpected(count.error());
  return count ? count->value_or(0) : 0;
}

Result<uint64_t> all_pending_starts(const View& view) {
  uint64_t all = 0;
  TRY(walk(
      view, Table::kMeta, kPendingStartsKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        all += TRY(rows::decode(view, Table::kMeta, key, value, decode_pending_starts));
        return true;
      },
      [](const Error&) {}));
  return all;
}

Result<uint64_t> start_keys_of(const View& view, NamespaceNumber ns) {
  return TRY(start_rates_of(view, ns)) + TRY(pending_starts_of(view, ns));
}

Result<std::optional<ListedStart>> first_pending_start(const View& view) {
  std::optional<ListedStart> first;
  view.scan(Table::kMeta, kPendingStartAtKey, [&](std::string_view key, auto) {
    first = listed_start(key);  // a damaged key is passed over; `millrace verify` finds it
    return !first;
  });
  TRY(view.status());
  return first;
}

Status each_listed_start(const View& view,
                         const std::function<Result<bool>(const ListedStart& listed)>& see) {
  return walk(
      view, Table::kMeta, kPendingStartAtKey, {},
      [&](std::string_view key, std::string_view) -> Result<bool> {
        const auto listed = listed_start(key);
        return listed ? see(*listed) : Result<bool>(true);
      },
      [](const Error&) {});
}

void erase_listed_start(Transaction& tx, const ListedStart& listed) {
  tx.erase(Table::kMeta, listed_start_key(listed));
}

std::optional<NamespaceNumber> namespace_of_pending_start(std::string_view key) {
  const auto place = pending_start_place(key);
  return place ? std::optional(place->ns) : std::nullopt;
}

std::optional<PendingStartPlace> pending_start_place(std::string_view key) {
  if (!key.starts_with(kPendingStartKey)) return std::nullopt;
  Reader reader(key.substr(kPendingStartKey.size()));
  const PendingStartPlace place = get_pending_place(reader);
  return reader.done() ? std::optional(place) : std::nullopt;
}

std::optional<ListedStart> listed_start(std::string_view key) {
  if (!key.starts_with(kPendingStartAtKey)) return std::nullopt;
  Reader reader(key.substr(kPendingStartAtKey.size()));
  const uint64_t listed = reader.u64();
  if (listed > static_cast<uint64_t>(to_millis(kLastTime))) return std::nullopt;
  const PendingStartPlace place = get_pending_place(reader);
  if (!reader.done()) return std::nullopt;
  return ListedStart{from_millis(static_cast<int64_t>(listed)), place};
}

std::string listed_start_key(const ListedStart& listed) {
  Writer key;
  key.raw(kPendingStartAtKey);
  key.u64(static_cast<uint64_t>(to_millis(listed.listed)));
  put_pending_place(key, listed.place);
  return key.take();
}

std::optional<NamespaceNumber> namespace_of_pending_starts(std::string_view key) {
  if (!key.starts_with(kPendingStartsKey)) return std::nullopt;
  Reader reader(key.substr(kPendingStartsKey.size()));
  const uint32_t number = reader.u32();
  if (!reader.done() || number == 0) return std::nullopt;
  return NamespaceNumber(number);
}

Result<uint64_t> decode_pending_starts(std::string_view bytes) {
  Reader reader = open_record(bytes);
  const uint64_t count = get_number(reader);
  if (count == 0) reader.fail();
  return end_record(reader, count, "number of pending starts");
}

}  // namespace millrace
