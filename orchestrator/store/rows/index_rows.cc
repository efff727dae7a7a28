#include "orchestrator/store/rows/index_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Since version 2 the row of a namespace has the size of its counted rows.
constexpr uint8_t kUsageVersion = 2;

std::string by_status_prefix(NamespaceNumber ns, WorkflowNumber workflow, InstanceStatus status) {
  Writer key;
  key.u32(static_cast<uint32_t>(ns));
  key.u32(static_cast<uint32_t>(workflow));
  put_enum(key, status);
  return key.take();
}

/// `value` changed by `by`; nullopt: it would become negative.
std::optional<uint64_t> changed(uint64_t value, int64_t by) {
  if (by < 0 && value < static_cast<uint64_t>(-by)) return std::nullopt;
  return value + static_cast<uint64_t>(by);
}

/// Decodes the row at `key` for a change; without a row, an empty record. A damaged row is reported
/// and replaced by an empty record.
template <class T>
Result<T> read_to_change(Transaction& tx, Table table, std::string_view key,
                         Result<T> (*decode_bytes)(std::string_view), const OnDamage& damaged) {
  auto row = read(tx, table, key, decode_bytes);
  if (row) return row->value_or(T{});
  if (!is_damaged_row(row.error())) return tl::unexpected(row.error());
  damaged(row.error());
  request_index_build(tx);
  return T{};
}

void report_negative(Transaction& tx, Table table, std::string_view key, const OnDamage& damaged) {
  damaged(damaged_row(table, key, "it counts fewer instances or bytes than have ended"));
  request_index_build(tx);
}

}  // namespace

IndexedInstance indexed(const Instance& head) {
  IndexedInstance one{
      .id = head.id,
      .place = {.ns = head.ns,
                .revision = head.revision,
                .state = static_cast<uint32_t>(head.state),
                .status = head.status},
      .row_bytes = std::accumulate(head.part_bytes.begin(), head.part_bytes.end(), uint64_t{0}),
      .history_bytes = head.history_bytes};
  one.starts.include(head.id, head.started_at);
  return one;
}

// Changes.

void IndexChanges::add_up(const IndexedInstance& one, int64_t by) {
  counts_[one.place] += by;
  UsageChange& usage = usage_[one.place.ns];
  (has_ended(one.place.status) ? usage.ended : usage.live) += by;
  usage.row_bytes += by * static_cast<int64_t>(one.row_bytes);
  usage.history_bytes += by * static_cast<int64_t>(one.history_bytes);
  if (by > 0) usage.starts.include(one.starts);
}

void IndexChanges::add(Transaction& tx, const IndexedInstance& after) {
  tx.put(Table::kByStatus, by_status_key(after.place, after.id), {});
  add_up(after, 1);
}

void IndexChanges::remove(Transaction& tx, const IndexedInstance& before) {
  tx.erase(Table::kByStatus, by_status_key(before.place, before.id));
  add_up(before, -1);
}

void IndexChanges::change(Transaction& tx, const IndexedInstance& before,
                          const IndexedInstance& after) {
  if (before.place.status != after.place.status) {
    tx.erase(Table::kByStatus, by_status_key(before.place, before.id));
    tx.put(Table::kByStatus, by_status_key(after.place, after.id), {});
  }
  add_up(before, -1);
  add_up(after, 1);
}

void IndexChanges::add_bytes(NamespaceNumber ns, int64_t by) {
  if (by != 0) usage_[ns].counted_bytes += by;
}

Status IndexChanges::write(Transaction& tx, const OnDamage& damaged) {
  for (const auto& [place, by] : counts_) {
    if (by == 0) continue;
    const std::string key = count_key(place);
    const auto count =
        changed(TRY(read_to_change(tx, Table::kCounts, key, decode_count, damaged)), by);
    if (!count) report_negative(tx, Table::kCounts, key, damaged);
    if (count.value_or(0) == 0) {
      tx.erase(Table::kCounts, key);
    } else {
      tx.put(Table::kCounts, key, encode_count(*count));
    }
  }
  for (const auto& [ns, by] : usage_) {
    const std::string key = ns_prefix(ns);
    const Usage before = TRY(read_to_change(tx, Table::kUsage, key, decode_usage, damaged));
    const auto live = changed(before.live, by.live);
    const auto ended = changed(before.ended, by.ended);
    const auto row_bytes = changed(before.row_bytes, by.row_bytes);
    const auto history_bytes = changed(before.history_bytes, by.history_bytes);
    const auto counted_bytes = changed(before.counted_bytes, by.counted_bytes);
    if (!live || !ended || !row_bytes || !history_bytes || !counted_bytes) {
      report_negative(tx, Table::kUsage, key, damaged);
    }
    Usage after{.live = live.value_or(0),
                .ended = ended.value_or(0),
                .row_bytes = row_bytes.value_or(0),
                .history_bytes = history_bytes.value_or(0),
                .counted_bytes = counted_bytes.value_or(0)};
    if (after.live > 0 || after.ended > 0) {
      after.starts = before.starts;
      after.starts.include(by.starts);
    }
    if (after == before) continue;
    if (after == Usage{}) {
      tx.erase(Table::kUsage, key);
    } else {
      tx.put(Table::kUsage, key, encode(after));
    }
  }
  clear();
  return {};
}

Result<uint64_t> IndexChanges::count(const View& view, NamespaceNumber ns, WorkflowNumber workflow,
                                     std::span<const InstanceStatus> statuses) const {
  const auto is_one = [&](InstanceStatus status) {
    return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
  };
  int64_t sum = 0;
  TRY(walk(view, Table::kCounts, ns_prefix(ns).append(workflow_prefix(workflow)), {},
           [&](std::string_view key, std::string_view value) -> Result<bool> {
             const CountPlace place = TRY(decode_count_key(key));
             if (!is_one(place.status)) return true;
             sum += static_cast<int64_t>(
                 TRY(rows::decode(view, Table::kCounts, key, value, decode_count)));
             return true;
           }));
  const CountPlace first{.ns = ns, .revision = {.workflow = workflow}};
  for (auto next = counts_.lower_bound(first); next != counts_.end(); ++next) {
    const auto& [place, by] = *next;
    if (place.ns != ns || place.revision.workflow != workflow) break;
    if (is_one(place.status)) sum += by;
  }
  return static_cast<uint64_t>(std::max<int64_t>(sum, 0));
}

Result<uint64_t> IndexChanges::bytes(const View& view, NamespaceNumber ns) const {
  const Usage usage = TRY(read_usage(view, ns));
  int64_t sum = static_cast<int64_t>(usage.row_bytes + usage.history_bytes);
  if (const auto change = usage_.find(ns); change != usage_.end()) {
    sum += change->second.row_bytes + change->second.history_bytes;
  }
  return static_cast<uint64_t>(std::max<int64_t>(sum, 0));
}

Result<uint64_t> IndexChanges::all_bytes(const View& view, NamespaceNumber ns) const {
  auto sum = static_cast<int64_t>(TRY(read_usage(view, ns)).all_bytes());
  if (const auto change = usage_.find(ns); change != usage_.end()) {
    const UsageChange& by = change->second;
    sum += by.row_bytes + by.history_bytes + by.counted_bytes;
  }
  return static_cast<uint64_t>(std::max<int64_t>(sum, 0));
}

void IndexChanges::clear() {
  counts_.clear();
  usage_.clear();
}

// Reading.

bool is_indexed(const View& view, const IndexedInstance& one) {
  return view.get(Table::kByStatus, by_status_key(one.place, one.id)).has_value();
}

Status each_by_status(const View& view, NamespaceNumber ns, WorkflowNumber workflow,
                      InstanceStatus status, const std::optional<InstanceId>& behind,
                      const std::function<bool(const InstanceId& id)>& see,
                      const OnDamage& damaged) {
  const std::string prefix = by_status_prefix(ns, workflow, status);
  const std::string from = behind ? prefix + rows::key_of(*behind) + '\0' : "";
  return walk(
      view, Table::kByStatus, prefix, from,
      [&](std::string_view key, auto) -> Result<bool> {
        return see(TRY(decode_by_status_key(key)).id);
      },
      damaged);
}

Result<std::vector<InstanceId>> some_by_status(const View& view, NamespaceNumber ns,
                                               WorkflowNumber workflow, InstanceStatus status,
                                               const IdRange& range, Direction direction,
                                               size_t most) {
  Result<std::vector<InstanceId>> ids;
  if (range.is_empty() || most == 0) return ids;
  const std::string prefix = by_status_prefix(ns, workflow, status);
  const std::string from = direction == Direction::kForward
                               ? prefix + rows::key_of(range.first)
                               : prefix + rows::key_of(range.last) + '\0';
  view.scan(Table::kByStatus, prefix, from, direction, [&](std::string_view key, auto) {
    const auto found = decode_by_status_key(key);
    if (!found) {
      ids = tl::unexpected(found.error());
      return false;
    }
    if (!range.contains(found->id)) return false;
    ids->push_back(found->id);
    return ids->size() < most;
  });
  TRY(view.status());
  return ids;
}

Result<std::optional<IndexedInstance>> first_by_status(const View& view, NamespaceNumber ns,
                                                       WorkflowNumber workflow,
                                                       std::optional<InstanceStatus> behind,
                                                       const OnDamage& damaged) {
  constexpr size_t kPastAllIds = sizeof(InstanceId::bytes) + 1;
  const std::string from = behind
                               ? by_status_prefix(ns, workflow, *behind).append(kPastAllIds, '\xff')
                               : ns_prefix(ns).append(workflow_prefix(workflow));
  std::optional<IndexedInstance> found;
  TRY(walk(
      view, Table::kByStatus, ns_prefix(ns), from,
      [&](std::string_view key, auto) -> Result<bool> {
        found = TRY(decode_by_status_key(key));
        return false;
      },
      damaged));
  return found;
}

Status each_count(const View& view, NamespaceNumber ns,
                  const std::optional<WorkflowNumber>& workflow,
                  const std::function<bool(const CountPlace& place, uint64_t count)>& see) {
  std::string prefix = ns_prefix(ns);
  if (workflow) prefix += workflow_prefix(*workflow);
  return walk(view, Table::kCounts, prefix, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                return see(TRY(decode_count_key(key)),
                           TRY(rows::decode(view, Table::kCounts, key, value, decode_count)));
              });
}

Result<Usage> read_usage(const View& view, NamespaceNumber ns) {
  return TRY(read(view, Table::kUsage, ns_prefix(ns), decode_usage)).value_or(Usage{});
}

Result<std::optional<StartBounds>> read_start_bounds(const View& view, NamespaceNumber ns) {
  if (is_index_incomplete(view)) return std::optional<StartBounds>();
  const auto usage = read(view, Table::kUsage, ns_prefix(ns), decode_usage);
  if (!usage && !is_damaged_row(usage.error())) return tl::unexpected(usage.error());
  if (!usage || !*usage) return std::optional<StartBounds>();
  return std::optional((*usage)->starts);
}

// Keys and records.

std::string by_status_key(const CountPlace& place, const InstanceId& id) {
  return by_status_prefix(place.ns, place.revision.workflow, place.status) + rows::key_of(id);
}

Result<IndexedInstance> decode_by_status_key(std::string_view key) {
  Reader reader(key);
  IndexedInstance one;
  one.place.ns = NamespaceNumber(reader.u32());
  one.place.revision.workflow = WorkflowNumber(reader.u32());
  one.place.status = get_enum(reader, InstanceStatus::kTimedOut);
  one.id.bytes = reader.id();
  if (reader.done()) return one;
  return tl::unexpected(
      damaged_row(Table::kByStatus, key, "its key is not the key of an instance and its status"));
}

std::string count_key(const CountPlace& place) {
  Writer key;
  key.u32(static_cast<uint32_t>(place.ns));
  key.u32(static_cast<uint32_t>(place.revision.workflow));
  key.u32(place.revision.number);
  key.u32(place.state);
  put_enum(key, place.status);
  return key.take();
}

Result<CountPlace> decode_count_key(std::string_view key) {
  Reader reader(key);
  CountPlace place;
  place.ns = NamespaceNumber(reader.u32());
  place.revision.workflow = WorkflowNumber(reader.u32());
  place.revision.number = reader.u32();
  place.state = reader.u32();
  place.status = get_enum(reader, InstanceStatus::kTimedOut);
  if (reader.done()) return place;
  return tl::unexpected(damaged_row(Table::kCounts, key, "its key is not the key of a count"));
}

std::string encode_count(uint64_t count) {
  Writer writer = begin_record();
  writer.varint(count);
  return writer.take();
}

Result<uint64_t> decode_count(std::string_view bytes) {
  Reader reader = open_record(bytes);
  const uint64_t count = get_number(reader);
  return end_record(reader, count, "count");
}

std::string encode(const Usage& usage) {
  Writer writer = begin_record(kUsageVersion);
  writer.varint(usage.live);
  writer.varint(usage.ended);
  writer.varint(usage.row_bytes);
  writer.varint(usage.history_bytes);
  put_duration(writer, usage.starts.early_by);
  put_duration(writer, usage.starts.late_by);
  put_time(writer, usage.starts.late_until);
  writer.varint(usage.counted_bytes);
  return writer.take();
}

Result<Usage> decode_usage(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kUsageVersion);
  Usage usage;
  usage.live = get_number(reader);
  usage.ended = get_number(reader);
  usage.row_bytes = get_number(reader);
  usage.history_bytes = get_number(reader);
  usage.starts.early_by = get_duration(reader);
  usage.starts.late_by = get_duration(reader);
  usage.starts.late_until = get_time(reader);
  if (version >= 2) usage.counted_bytes = get_number(reader);
  const StartBounds& starts = usage.starts;
  if (starts.early_by < Duration(0) || starts.late_by < Duration(0)) reader.fail();
  return end_record(reader, usage, "usage");
}

}  // namespace millrace
