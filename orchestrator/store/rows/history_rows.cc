#include "orchestrator/store/rows/history_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Since version 2 the records `entered` have the position of an event.
constexpr uint8_t kHistoryVersion = 2;

/// How a history row stores the data of a record.
// On disk: never renumber.
enum class Recorded : uint8_t {
  kNone = 0,
  kText = 1,
  kInput = 2,
};

void put_record(Writer& writer, const HistoryRecord& record, bool has_input) {
  put_time(writer, record.time);
  put_enum(writer, record.kind);
  writer.bytes(record.state);
  writer.bytes(record.detail.is_null() ? std::string_view() : record.detail.text());
  if (has_input) {
    put_enum(writer, Recorded::kInput);
  } else if (record.data) {
    put_enum(writer, Recorded::kText);
    writer.bytes(record.data->text());
  } else {
    put_enum(writer, Recorded::kNone);
  }
  if (record.kind == HistoryKind::kEntered) put_position(writer, record.event);
}

/// Whether the data of the record with that index is the input of the instance.
bool has_input_at(const HistoryRow& row, size_t index) {
  return std::binary_search(row.with_input.begin(), row.with_input.end(), index);
}

/// Decodes a row up to the number of its records.
Result<HistoryLink> decode_link(std::string_view bytes) {
  Reader reader(bytes);
  read_version(reader, kHistoryVersion);
  HistoryLink link{.ns = NamespaceNumber(get_u32(reader)), .bytes = bytes.size()};
  link.instance.bytes = reader.id();
  link.previous = get_number(reader);
  link.records = reader.count();
  if (reader.ok()) return link;
  return tl::unexpected(damaged_record(reader, "history"));
}

}  // namespace

std::string encode(const HistoryRow& row) {
  Writer writer = begin_record(kHistoryVersion);
  writer.varint(static_cast<uint32_t>(row.ns));
  writer.id(row.instance.bytes);
  writer.varint(row.previous);
  writer.varint(row.records.size());
  for (size_t i = 0; i < row.records.size(); ++i) {
    put_record(writer, row.records[i], has_input_at(row, i));
  }
  return writer.take();
}

Result<HistoryRow> decode_history(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kHistoryVersion);
  HistoryRow row;
  row.ns = NamespaceNumber(get_u32(reader));
  row.instance.bytes = reader.id();
  row.previous = get_number(reader);
  for (size_t left = reader.count(); left > 0; --left) {
    HistoryRecord record;
    record.time = get_time(reader);
    record.kind = get_enum(reader, kLastHistoryKind);
    record.state = get_string(reader);
    if (const std::string_view detail = reader.bytes(); !detail.empty()) {
      if (!is_own_json(detail)) reader.fail();
      record.detail = LazyJson::of_text(std::string(detail));
    }
    const auto data = get_enum(reader, Recorded::kInput);
    if (data == Recorded::kText) record.data = get_json(reader);
    if (data == Recorded::kInput) row.with_input.push_back(row.records.size());
    if (version >= 2 && record.kind == HistoryKind::kEntered) record.event = get_position(reader);
    row.records.push_back(std::move(record));
  }
  return end_record(reader, std::move(row), "history");
}

size_t write_history(Transaction& tx, uint64_t number, const HistoryRow& row) {
  std::string bytes = encode(row);
  const size_t size = bytes.size();
  rows::put(tx, Table::kHistory, key_of(number), std::move(bytes), row.sealed);
  return size;
}

Result<std::optional<HistoryLink>> read_history_link(const View& view, uint64_t number) {
  return read(view, Table::kHistory, key_of(number), decode_link);
}

Result<HistoryRow> read_history_row(const View& view, uint64_t number) {
  const std::string key = key_of(number);
  auto row = TRY(read(view, Table::kHistory, key, decode_history));
  if (!row) return missing_row(Table::kHistory, key);
  return *std::move(row);
}

uint64_t droppable_records(const HistoryRow& row, const std::optional<uint64_t>& records,
                           const std::optional<uint64_t>& bytes) {
  uint64_t kept = 0;
  uint64_t kept_bytes = 0;
  const auto is_enough = [&] {
    return (records && kept >= *records) || (bytes && kept_bytes >= *bytes);
  };
  size_t first = row.records.size();
  while (first > 0 && (kept == 0 || !is_enough())) {
    --first;
    ++kept;
    Writer writer;
    put_record(writer, row.records[first], has_input_at(row, first));
    kept_bytes += writer.take().size();
  }
  return first;
}

bool has_data_from(const HistoryRow& row, uint64_t first) {
  if (!row.with_input.empty() && row.with_input.back() >= first) return true;
  return std::any_of(row.records.begin() + static_cast<ptrdiff_t>(first), row.records.end(),
                     [](const HistoryRecord& record) { return record.data.has_value(); });
}

Result<uint64_t> begin_history_at(Transaction& tx, uint64_t number) {
  return begin_history_within(tx, number, TRY(read_history_row(tx, number)), 0);
}

uint64_t begin_history_within(Transaction& tx, uint64_t number, HistoryRow row, uint64_t drop) {
  row.previous = 0;
  row.records.erase(row.records.begin(), row.records.begin() + static_cast<ptrdiff_t>(drop));
  std::erase_if(row.with_input, [&](size_t index) { return index < drop; });
  for (size_t& index : row.with_input) index -= drop;
  return write_history(tx, number, row);
}

Result<bool> is_trimmed_row(const View& view, const Instance& head, uint64_t number) {
  if (head.history_trimmed == 0) return false;
  for (uint64_t kept = head.last_history; kept != 0;) {
    const auto link = read_history_link(view, kept);
    if (!link && !is_damaged_row(link.error())) return tl::unexpected(link.error());
    const bool is_whole = link && *link && (*link)->instance == head.id && (*link)->previous < kept;
    if (!is_whole || kept <= number) return false;
    kept = (*link)->previous;
  }
  return true;
}

namespace {

/// The row of that number must be of the instance, and its previous row must be older.
Status check_in_chain(const Instance& instance, uint64_t number, const InstanceId& owner,
                      uint64_t previous) {
  if (previous < number && owner == instance.id) return {};
  return tl::unexpected(damaged_row(Table::kHistory, key_of(number),
                                    owner != instance.id
                                        ? "it belongs to another instance"
                                        : "it names itself or a newer row as the previous row"));
}

/// The most records that belong to the chain: the rows before the kept ones belong to nothing any
/// more and may not be erased yet.
uint64_t kept_records(const Instance& instance) {
  return instance.history_trimmed == 0 ? std::numeric_limits<uint64_t>::max()
                                       : instance.history_count - instance.history_trimmed;
}

}  // namespace

Status each_history_place(const View& view, const Instance& instance,
                          const std::function<Result<bool>(const HistoryPlace& place)>& see) {
  uint64_t left = kept_records(instance);
  uint64_t last = instance.history_count;
  for (uint64_t number = instance.last_history; number != 0 && left > 0;) {
    const auto link = TRY(read_history_link(view, number));
    if (!link) break;  // a purge may have erased the older rows
    TRY(check_in_chain(instance, number, link->instance, link->previous));
    // The number of records in a damaged head may be too small.
    const uint64_t first = last > link->records ? last - link->records + 1 : 1;
    if (!TRY(see({.row = number, .first = first, .records = link->records}))) break;
    last = first - 1;
    left -= std::min(left, link->records);
    number = link->previous;
  }
  return {};
}

Result<std::vector<HistoryRecord>> read_history_row(const View& view, const Instance& instance,
                                                    uint64_t number) {
  const std::string key = key_of(number);
  auto row = TRY(read(view, Table::kHistory, key, decode_history));
  if (!row) return missing_row(Table::kHistory, key);
  TRY(check_in_chain(instance, number, row->instance, row->previous));
  for (const size_t i : row->with_input) row->records[i].data = instance.input;
  return std::move(row->records);
}

Result<std::vector<HistoryRecord>> read_history(const View& view, const Instance& instance) {
  std::vector<HistoryRow> rows;
  uint64_t left = kept_records(instance);
  for (uint64_t number = instance.last_history; number != 0 && left > 0;
       number = rows.back().previous) {
    auto row = TRY(read(view, Table::kHistory, key_of(number), decode_history));
    if (!row) break;  // a purge may have erased the older rows
    TRY(check_in_chain(instance, number, row->instance, row->previous));
    for (const size_t i : row->with_input) row->records[i].data = instance.input;
    left -= std::min<uint64_t>(left, row->records.size());
    rows.push_back(std::move(*row));
  }
  std::vector<HistoryRecord> records;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    for (HistoryRecord& record : row->records) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace millrace
