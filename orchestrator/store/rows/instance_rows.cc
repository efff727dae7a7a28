#include "orchestrator/store/rows/instance_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// The value of an ended instance's data row if the history has the data.
constexpr std::string_view kInHistory;

/// The final data of an ended instance from its last history row: the last data in its records, or
/// the instance's input if the record refers to it. nullopt: the row is missing or has no data.
Result<std::optional<std::string>> data_of_history(const View& view, Table table,
                                                   const std::string& prefix,
                                                   const Instance& instance) {
  const auto row = TRY(read(view, Table::kHistory, key_of(instance.last_history), decode_history));
  if (!row) return std::optional<std::string>();
  for (size_t i = row->records.size(); i-- > 0;) {
    if (row->records[i].data) return row->records[i].data->text();
    if (std::binary_search(row->with_input.begin(), row->with_input.end(), i)) {
      return read_text(view, table, part_key(prefix, Part::kInput));
    }
  }
  return std::optional<std::string>();
}

/// Whether the data row of an ended instance says that the history has the data.
Result<bool> is_in_history(const View& view, Table table, const std::string& key) {
  if (table != Table::kEnded) return false;
  const auto text = TRY(read_text(view, table, key));
  return text && *text == kInHistory;
}

/// Adds to a head the data, slots, found data, failed data and calls. If there is no data row, the
/// data never changed and equals the input.
Status add_data(const View& view, Table table, const std::string& prefix, Instance& instance) {
  const std::string data_key = part_key(prefix, Part::kData);
  if (TRY(is_in_history(view, table, data_key))) {
    auto text = TRY(data_of_history(view, table, prefix, instance));
    if (!text)
      return missing_row(Table::kHistory, key_of(instance.last_history),
                         ", or it has no data; it should have the data of an instance");
    instance.data = LazyJson::of_text(std::move(*text));
  } else {
    auto data = TRY(read_json(view, table, data_key));
    const std::string input_key = part_key(prefix, Part::kInput);
    if (!data) data = TRY(read_json(view, table, input_key));
    if (!data) return missing_row(table, input_key);
    instance.data = std::move(*data);
  }
  auto slots = TRY(read(view, table, part_key(prefix, Part::kSlots), decode_slots));
  if (slots) instance.slots = std::move(*slots);
  instance.found_data = TRY(read_json(view, table, part_key(prefix, Part::kFoundData)));
  if (instance.failed_data) {
    const std::string failed_key = part_key(prefix, Part::kFailedData);
    auto failed = TRY(read_json(view, table, failed_key));
    if (!failed) return missing_row(table, failed_key, ", but the head refers to it");
    instance.failed_data = std::move(*failed);
  }
  return read_calls(view, table, prefix, instance.calls);
}

}  // namespace

// Slots.

std::string encode_slots(const std::vector<std::optional<LazyJson>>& slots) {
  Writer writer = begin_record();
  writer.varint(slots.size());
  for (const auto& slot : slots) {
    put_optional(writer, slot, [](Writer& to, const LazyJson& json) { to.bytes(json.text()); });
  }
  return writer.take();
}

Result<std::vector<std::optional<LazyJson>>> decode_slots(std::string_view bytes) {
  Reader reader = open_record(bytes);
  std::vector<std::optional<LazyJson>> slots;
  for (size_t left = reader.count(); left > 0; --left) {
    slots.push_back(get_optional(reader, get_json));
  }
  return end_record(reader, std::move(slots), "slots");
}

// Reading.

Result<std::optional<Instance>> read_live(const View& view, NamespaceNumber ns,
                                          const InstanceId& id) {
  auto instance = TRY(read_head(view, Table::kLive, ns, id));
  if (instance) TRY(add_data(view, Table::kLive, instance_prefix(ns, id), *instance));
  return instance;
}

Result<LazyJson> read_input(const View& view, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.ns, instance.id);
  const std::string key = part_key(prefix, Part::kInput);
  auto input = TRY(read_json(view, Table::kLive, key));
  if (!input) return missing_row(Table::kLive, key);
  return std::move(*input);
}

Result<std::optional<Instance>> read_instance(const View& view, NamespaceNumber ns,
                                              const InstanceId& id) {
  const std::string prefix = instance_prefix(ns, id);
  for (const Table table : {Table::kLive, Table::kEnded}) {
    auto instance = TRY(read_head(view, table, ns, id));
    if (!instance) continue;
    TRY(add_data(view, table, prefix, *instance));
    const std::string input_key = part_key(prefix, Part::kInput);
    auto input = TRY(read_json(view, table, input_key));
    if (!input) return missing_row(table, input_key);
    instance->input = std::move(*input);
    return instance;
  }
  return std::optional<Instance>();
}

Result<std::optional<TimePoint>> read_last_moved(const View& view, NamespaceNumber ns,
                                                 const InstanceId& id) {
  const auto head = TRY(read_live_head(view, ns, id));
  if (!head) return std::optional<TimePoint>();
  const auto row = TRY(read(view, Table::kHistory, key_of(head->last_history), decode_history));
  if (!row || row->records.empty()) return std::optional<TimePoint>(head->started_at);
  return std::optional<TimePoint>(row->records.back().time);
}

// Writing.

void write_instance(Transaction& tx, const Instance& instance, Changed changed) {
  const std::string prefix = instance_prefix(instance.ns, instance.id);
  const bool ended = has_ended(instance.status);
  const Table table = ended ? Table::kEnded : Table::kLive;
  const auto put = [&](Part part, std::string bytes) {
    rows::put(tx, table, part_key(prefix, part), std::move(bytes), instance.sealed);
  };
  put(Part::kHead, encode_head(instance));
  if (changed.input) put(Part::kInput, instance.input.text());
  if (changed.data) {
    put(Part::kData,
        ended && changed.ends_history ? std::string(kInHistory) : instance.data.text());
  }
  if (changed.calls != nullptr) write_calls(tx, prefix, instance, *changed.calls);
  const auto put_or_erase = [&](Part part, bool there, const auto& bytes) {
    if (there) {
      put(part, bytes());
    } else {
      tx.erase(table, part_key(prefix, part));
    }
  };
  if (changed.failed_data) {
    put_or_erase(Part::kFailedData, instance.failed_data.has_value(),
                 [&] { return instance.failed_data->text(); });
  }
  if (!ended) {
    if (changed.slots) {
      put_or_erase(Part::kSlots, !instance.slots.empty(),
                   [&] { return encode_slots(instance.slots); });
    }
    if (changed.found_data) {
      put_or_erase(Part::kFoundData, instance.found_data.has_value(),
                   [&] { return instance.found_data->text(); });
    }
    return;
  }
  if (changed.input) return;  // started and ended in one batch: no rows in `live`
  // Unchanged rows move to `ended` as they are. An ended instance has no slots.
  const auto move = [&](Part part) {
    if (const auto bytes = tx.get(Table::kLive, part_key(prefix, part))) {
      tx.put(table, part_key(prefix, part), std::string(*bytes));
    }
  };
  move(Part::kInput);
  if (!changed.data) move(Part::kData);
  if (instance.failed_data && !changed.failed_data) move(Part::kFailedData);
  // Each erase is written to the journal, so only rows that can exist are erased.
  const auto erase = [&](Part part) { tx.erase(Table::kLive, part_key(prefix, part)); };
  erase(Part::kHead);
  erase(Part::kInput);
  erase(Part::kData);
  if (changed.slots) erase(Part::kSlots);
  if (changed.found_data) erase(Part::kFoundData);
  if (instance.failed_data || changed.failed_data) erase(Part::kFailedData);
}

void erase_ended(Transaction& tx, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.ns, instance.id);
  for (const Part part : {Part::kHead, Part::kInput, Part::kData, Part::kFailedData}) {
    tx.erase(Table::kEnded, part_key(prefix, part));
  }
}

Result<size_t> erase_parts(Transaction& tx, NamespaceNumber ns, const InstanceId& id) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  const std::string prefix = instance_prefix(ns, id);
  const size_t live = TRY(rows::erase_some(tx, Table::kLive, prefix, kAll));
  return live + TRY(rows::erase_some(tx, Table::kEnded, prefix, kAll));
}

void erase_instance(Transaction& tx, const Instance& instance) {
  erase_ended(tx, instance);
  erase_idempotency(tx, instance);
}

}  // namespace millrace
