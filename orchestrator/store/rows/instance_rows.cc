#include "orchestrator/store/rows/instance_rows.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/compensation_rows.h"
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

/// Whether the instance may have a row of that part. The heads of earlier releases have no sizes;
/// each instance has an input, so then its size is 0.
bool may_have(const Instance& instance, Part part) {
  const auto size_of = [&](Part one) { return instance.part_bytes[static_cast<size_t>(one)]; };
  return size_of(part) > 0 || size_of(Part::kInput) == 0;
}

/// Whether the instance has a row with its starting event. Its head then has the size.
bool has_start_event(const Instance& instance) {
  return instance.part_bytes[static_cast<size_t>(Part::kStartEvent)] > 0;
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
  // Most instances have neither slots nor found data. To look for a row that does not exist takes
  // as long as to find one in each layer of the store.
  if (may_have(instance, Part::kSlots)) {
    auto slots = TRY(read(view, table, part_key(prefix, Part::kSlots), decode_slots));
    if (slots) instance.slots = std::move(*slots);
  }
  if (may_have(instance, Part::kFoundData)) {
    instance.found_data = TRY(read_json(view, table, part_key(prefix, Part::kFoundData)));
  }
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

Result<std::optional<Instance>> read_caller(const View& view, NamespaceNumber ns,
                                            const Caller& call) {
  auto instance = TRY(read_head(view, Table::kLive, ns, call.instance));
  if (!instance) return instance;
  TRY(read_call(view, Table::kLive, instance_prefix(ns, call.instance), call.index,
                instance->calls));
  return instance;
}

Result<std::vector<Call>> read_some_calls(const View& view, const Instance& head, size_t first,
                                          size_t most) {
  return read_calls_from(view, Table::kLive, instance_prefix(head.ns, head.id), head.calls.size(),
                         first, most);
}

Result<LazyJson> read_input(const View& view, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.ns, instance.id);
  const std::string key = part_key(prefix, Part::kInput);
  auto input = TRY(read_json(view, Table::kLive, key));
  if (!input) return missing_row(Table::kLive, key);
  return std::move(*input);
}

Result<LazyJson> read_start_event(const View& view, const Instance& instance) {
  if (!has_start_event(instance)) return LazyJson();
  const Table table = has_ended(instance.status) ? Table::kEnded : Table::kLive;
  const std::string key = part_key(instance_prefix(instance.ns, instance.id), Part::kStartEvent);
  auto event = TRY(read_json(view, table, key));
  if (!event) return missing_row(table, key, ", but the head has its size");
  return std::move(*event);
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
    instance->start_event = TRY(read_start_event(view, *instance));
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

namespace {

/// Writes the rows of one instance and keeps their sizes in Instance::part_bytes.
class PartsWriter {
 public:
  PartsWriter(Transaction& tx, Instance& instance)
      : tx_(tx),
        instance_(instance),
        prefix_(instance_prefix(instance.ns, instance.id)),
        table_(has_ended(instance.status) ? Table::kEnded : Table::kLive) {}

  void put(Part part, std::string bytes) {
    size_of(part) = bytes.size();
    rows::put(tx_, table_, part_key(prefix_, part), std::move(bytes), instance_.sealed);
  }

  /// Writes the row of the part, or erases it if there are no bytes.
  void put_or_erase(Part part, std::optional<std::string> bytes) {
    if (bytes) return put(part, std::move(*bytes));
    erase(table_, part);
  }

  void put_calls(const Changed& changed) {
    uint64_t& bytes = size_of(Part::kCall);
    const ChangedCalls calls{.before = *changed.calls, .some = changed.changed_calls};
    bytes = write_calls(tx_, prefix_, instance_, calls, bytes, changed.written_calls);
  }

  void put_compensations(const Changed& changed) {
    uint64_t& bytes = size_of(Part::kCompensation);
    bool* const left = changed.leaves_compensations;
    const uint32_t most = left != nullptr ? kErasedCompensations : kMostCompensations;
    const auto written = write_compensations(tx_, instance_, changed.compensations, bytes, most);
    bytes = written.bytes;
    if (left != nullptr) *left = written.has_left;
    instance_.new_compensations.clear();
  }

  /// Moves an unchanged row from `live` to `ended`.
  void move(Part part) {
    const std::string key = part_key(prefix_, part);
    if (const auto bytes = tx_.get(Table::kLive, key)) tx_.put(table_, key, std::string(*bytes));
    leave_live(part);
  }

  /// Erases the row in `live` of a part that an ended instance has in `ended`.
  void leave_live(Part part) { tx_.erase(Table::kLive, part_key(prefix_, part)); }

  void erase(Table table, Part part) {
    size_of(part) = 0;
    tx_.erase(table, part_key(prefix_, part));
  }

 private:
  uint64_t& size_of(Part part) { return instance_.part_bytes[static_cast<size_t>(part)]; }

  Transaction& tx_;
  Instance& instance_;
  const std::string prefix_;
  const Table table_;
};

std::optional<std::string> text_of(const std::optional<LazyJson>& json) {
  return json ? std::optional(json->text()) : std::nullopt;
}

/// Moves the rows of an instance that has ended from `live` to `ended`. An ended instance has no
/// slots and no found data. Each erase is written to the journal, so only rows that can exist are
/// erased. `had_data`: whether `live` may have a row with the data.
void leave_live(PartsWriter& parts, const Instance& instance, const Changed& changed,
                bool had_data) {
  parts.leave_live(Part::kHead);
  if (changed.input) {
    parts.leave_live(Part::kInput);
  } else {
    parts.move(Part::kInput);
  }
  if (has_start_event(instance)) parts.move(Part::kStartEvent);
  if (had_data) {
    if (changed.data) {
      parts.leave_live(Part::kData);
    } else {
      parts.move(Part::kData);
    }
  }
  if (changed.failed_data) {
    parts.leave_live(Part::kFailedData);
  } else if (instance.failed_data) {
    parts.move(Part::kFailedData);
  }
  if (changed.slots) parts.erase(Table::kLive, Part::kSlots);
  if (changed.found_data) parts.erase(Table::kLive, Part::kFoundData);
}

}  // namespace

void write_instance(Transaction& tx, Instance& instance, Changed changed) {
  const bool ended = has_ended(instance.status);
  const bool had_data = may_have(instance, Part::kData);
  PartsWriter parts(tx, instance);
  if (changed.input) parts.put(Part::kInput, instance.input.text());
  if (changed.is_new && !instance.start_event.is_null()) {
    parts.put(Part::kStartEvent, instance.start_event.text());
  }
  if (changed.data) {
    parts.put(Part::kData,
              ended && changed.ends_history ? std::string(kInHistory) : instance.data.text());
  }
  if (changed.calls != nullptr) parts.put_calls(changed);
  if (changed.compensations > 0 || instance.compensations > 0) parts.put_compensations(changed);
  if (changed.failed_data) parts.put_or_erase(Part::kFailedData, text_of(instance.failed_data));
  if (ended) {
    // An instance that started and ended in one batch has no rows in `live`.
    if (!changed.is_new) leave_live(parts, instance, changed, had_data);
  } else {
    if (changed.slots) {
      parts.put_or_erase(Part::kSlots, instance.slots.empty()
                                           ? std::nullopt
                                           : std::optional(encode_slots(instance.slots)));
    }
    if (changed.found_data) parts.put_or_erase(Part::kFoundData, text_of(instance.found_data));
  }
  parts.put(Part::kHead,
            encode_head(instance));  // last, because the head has the sizes of the rest
}

void erase_data(Transaction& tx, Instance& instance) {
  if (may_have(instance, Part::kData)) PartsWriter(tx, instance).erase(Table::kLive, Part::kData);
}

void write_head(Transaction& tx, Instance& instance) {
  PartsWriter(tx, instance).put(Part::kHead, encode_head(instance));
}

Status store_final_data(Transaction& tx, Instance& instance) {
  const std::string prefix = instance_prefix(instance.ns, instance.id);
  if (!TRY(is_in_history(tx, Table::kEnded, part_key(prefix, Part::kData)))) return {};
  auto data = TRY(data_of_history(tx, Table::kEnded, prefix, instance));
  if (!data) {
    return missing_row(Table::kHistory, key_of(instance.last_history),
                       ", or it has no data; it should have the data of an instance");
  }
  const auto input = TRY(read_text(tx, Table::kEnded, part_key(prefix, Part::kInput)));
  PartsWriter parts(tx, instance);
  if (data == input) {
    parts.erase(Table::kEnded, Part::kData);  // without the row, the data is the input
  } else {
    parts.put(Part::kData, *std::move(data));
  }
  return {};
}

namespace {

/// Erases the rows of an ended instance, but not those of its compensations.
void erase_own_rows(Transaction& tx, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.ns, instance.id);
  for (const Part part : {Part::kHead, Part::kInput, Part::kData, Part::kFailedData}) {
    tx.erase(Table::kEnded, part_key(prefix, part));
  }
  if (has_start_event(instance)) tx.erase(Table::kEnded, part_key(prefix, Part::kStartEvent));
}

}  // namespace

void revive_rows(Transaction& tx, Instance& instance) {
  erase_own_rows(tx, instance);
  const auto bytes = std::exchange(instance.part_bytes, {});
  constexpr auto kKept = static_cast<size_t>(Part::kCompensation);
  instance.part_bytes[kKept] = bytes[kKept];
}

Result<ErasedParts> erase_parts(Transaction& tx, NamespaceNumber ns, const InstanceId& id) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  const std::string prefix = instance_prefix(ns, id);
  const std::string noted = part_key(prefix, Part::kCompensation);
  ErasedParts erased;
  std::vector<std::string> keys;
  uint32_t compensations = 0;
  tx.scan(Table::kEnded, prefix, [&](std::string_view key, auto) {
    const bool is_left = key.starts_with(noted) && ++compensations > kErasedCompensations;
    if (!is_left) keys.emplace_back(key);
    erased.has_compensations |= is_left;
    return true;
  });
  TRY(tx.status());
  for (const std::string& key : keys) tx.erase(Table::kEnded, key);
  erased.rows = keys.size() + TRY(rows::erase_some(tx, Table::kLive, prefix, kAll));
  return erased;
}

bool erase_instance(Transaction& tx, const Instance& instance, uint32_t most) {
  erase_own_rows(tx, instance);
  erase_idempotency(tx, instance);
  return erase_compensations(tx, instance, most);
}

}  // namespace millrace
