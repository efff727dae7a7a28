#include "orchestrator/store/tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "orchestrator/store/codec.h"
#include "orchestrator/store/rows.h"

namespace millrace {
namespace {

using rows::instance_prefix;
using rows::is_head;
using rows::key_of;
using rows::number_of;
using rows::read;
using rows::read_text;
using rows::space_prefix;
using rows::walk;
using rows::workflow_prefix;

/// In place of an ended instance's data: the history has it.
constexpr std::string_view kInHistory;

constexpr std::string_view kFormatKey = "format";
constexpr std::string_view kCursorKey = "cursor";
constexpr std::string_view kSealKey = "seal";
constexpr std::string_view kTimeKey = "time";
constexpr std::string_view kCounterKey = "counter/";

// Keys.

std::string part_key(std::string prefix, Part part) {
  prefix.push_back(static_cast<char>(part));
  return prefix;
}

std::string call_key(const std::string& prefix, size_t index) {
  Writer key;
  key.raw(part_key(prefix, Part::kCall));
  key.u32(static_cast<uint32_t>(index));
  return key.take();
}

std::string definition_key(Revision revision) {
  Writer key;
  key.u32(static_cast<uint32_t>(revision.workflow));
  key.u32(revision.number);
  return key.take();
}

// The three kinds of rows in the groups' table, by the first byte of the key.
constexpr uint8_t kCountsRow = 1;
constexpr uint8_t kQueueRow = 2;
constexpr uint8_t kNumberRow = 3;

std::string counts_key(WorkflowNumber workflow, const Fingerprint& group) {
  Writer key;
  key.u8(kCountsRow);
  key.u32(static_cast<uint32_t>(workflow));
  key.id(group);
  return key.take();
}

std::string queue_prefix(const GroupQueue& queue) {
  Writer key;
  key.u8(kQueueRow);
  key.u32(static_cast<uint32_t>(queue.workflow));
  key.id(queue.group);
  key.u8(static_cast<uint8_t>(queue.entry >> 8));
  key.u8(static_cast<uint8_t>(queue.entry));
  return key.take();
}

std::string queue_key(const GroupQueue& queue, uint64_t number) {
  return queue_prefix(queue) + key_of(number);
}

std::string number_key(uint64_t number) {
  Writer key;
  key.u8(kNumberRow);
  key.u64(number);
  return key.take();
}

Result<GroupedEvent> grouped_of(std::string_view key, std::string_view value) {
  Reader reader(key);
  GroupedEvent event;
  reader.u8();
  event.queue.workflow = WorkflowNumber(reader.u32());
  event.queue.group = reader.id();
  const uint8_t high = reader.u8();
  event.queue.entry = static_cast<uint16_t>(high << 8 | reader.u8());
  event.number = reader.u64();
  if (!reader.done()) return fail("store.corrupt", "a key of a grouped event is damaged");
  event.record = TRY(decode_grouped(value));
  return event;
}

Result<uint64_t> decode_number(std::string_view bytes) {
  Reader reader(bytes);
  const uint64_t number = reader.u64();
  if (!reader.done()) return fail("store.corrupt", "a number is damaged");
  return number;
}

/// The data with which an instance ended, where its history has it: in a record, or told there to
/// be the input.
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

/// Adds the data to a head: from its own row, or, as long as it never changed, the input's.
Status add_data(const View& view, Table table, const std::string& prefix, Instance& instance) {
  auto data = TRY(read_text(view, table, part_key(prefix, Part::kData)));
  if (!data) data = TRY(read_text(view, table, part_key(prefix, Part::kInput)));
  if (data == kInHistory) data = TRY(data_of_history(view, table, prefix, instance));
  if (!data) {
    return fail("store.corrupt", fmt::format("instance {} has no data", to_string(instance.id)));
  }
  instance.data = LazyJson::of_text(std::move(*data));
  auto slots = TRY(read(view, table, part_key(prefix, Part::kSlots), decode_slots));
  if (slots) instance.slots = std::move(*slots);
  if (auto found = TRY(read_text(view, table, part_key(prefix, Part::kFoundData)))) {
    instance.found_data = LazyJson::of_text(std::move(*found));
  }
  if (instance.failed_data) {
    auto failed = TRY(read_text(view, table, part_key(prefix, Part::kFailedData)));
    if (!failed) {
      return fail("store.corrupt", fmt::format("instance {} lacks the data of its failed state",
                                               to_string(instance.id)));
    }
    instance.failed_data = LazyJson::of_text(std::move(*failed));
  }
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    auto call = TRY(read(view, table, call_key(prefix, i), decode_call));
    if (!call) {
      return fail("store.corrupt",
                  fmt::format("instance {} lacks call {}", to_string(instance.id), i));
    }
    instance.calls[i] = std::move(*call);
  }
  return {};
}

bool stands_as(const Call& call, const Call& row) {
  return call.status == row.status && call.attempt == row.attempt && call.id == row.id &&
         call.retry_at == row.retry_at && call.begun == row.begun &&
         call.deadlines == row.deadlines && call.input.shared_text() == row.input.shared_text() &&
         call.result.shared_text() == row.result.shared_text();
}

/// Writes those calls that are not as their rows, erases the rows of those that are gone.
void write_calls(Transaction& tx, const std::string& prefix, const Instance& instance,
                 const std::vector<Call>& before) {
  const std::vector<Call>& calls = instance.calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i < before.size() && stands_as(calls[i], before[i])) continue;
    rows::put(tx, Table::kLive, call_key(prefix, i), encode_call(calls[i]),
              instance.sealed || calls[i].sealed);
  }
  for (size_t i = calls.size(); i < before.size(); ++i) tx.erase(Table::kLive, call_key(prefix, i));
}

Result<std::optional<Instance>> read_head(const View& view, Table table,
                                          const std::string& prefix) {
  return read(view, table, part_key(prefix, Part::kHead), decode_head);
}

}  // namespace

Result<Cursor> read_cursor(const View& view) {
  return TRY(read(view, Table::kMeta, kCursorKey, decode_cursor)).value_or(Cursor{});
}

void write_cursor(Transaction& tx, const Cursor& cursor) {
  tx.put(Table::kMeta, kCursorKey, encode(cursor));
}

Result<TimePoint> read_engine_time(const View& view) {
  const auto millis = TRY(read(view, Table::kMeta, kTimeKey, decode_number));
  return from_millis(static_cast<int64_t>(millis.value_or(0)));
}

void write_engine_time(Transaction& tx, TimePoint time) {
  tx.put(Table::kMeta, kTimeKey, key_of(static_cast<uint64_t>(to_millis(time))));
}

Result<uint64_t> read_counter(const View& view, Counter counter) {
  const std::string key = std::string(kCounterKey) + static_cast<char>(counter);
  return TRY(read(view, Table::kMeta, key, decode_number)).value_or(0);
}

void write_counter(Transaction& tx, Counter counter, uint64_t last) {
  const std::string key = std::string(kCounterKey) + static_cast<char>(counter);
  tx.put(Table::kMeta, key, key_of(last));
}

namespace {

/// The row that tells the key from others. It seals nothing.
Status check_key(Transaction& tx) {
  if (read_text(tx, Table::kMeta, kSealKey)) return {};
  TRY(tx.status());
  const Environment& environment = tx.environment();
  return fail("store.key",
              fmt::format("{} {}; the secrets in {} were sealed with the key that was there first: "
                          "put it back, or name its file by --secret-key-file",
                          environment.key_file().string(),
                          environment.key_is_new() ? "is missing" : "holds another key",
                          environment.folder().string()));
}

}  // namespace

Status check_format(Transaction& tx) {
  const auto format = TRY(read(tx, Table::kMeta, kFormatKey, decode_number));
  // What older formats wrote is read as it is: heads tell their own version, and nothing is sealed.
  if (!format || (*format >= 1 && *format < kStoreFormat)) {
    tx.put(Table::kMeta, kFormatKey, key_of(kStoreFormat));
    TRY(tx.environment().keep_key());
    rows::put(tx, Table::kMeta, kSealKey, "", true);
    TRY(tx.commit());
    // Into LMDB before all else: who knows no journal must see there that he is not to go on.
    return tx.environment().checkpoint();
  }
  if (*format == kStoreFormat) return check_key(tx);
  return fail("store.version",
              fmt::format("the data folder has format {}, this millrace reads format {}; use the "
                          "release that wrote it, or a newer one",
                          *format, kStoreFormat));
}

Status each_namespace(
    const View& view,
    const std::function<void(std::string_view name, const NamespaceRecord&)>& see) {
  return walk(view, Table::kNamespaces, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(key, TRY(decode_namespace(value)));
                return true;
              });
}

Result<std::optional<NamespaceRecord>> read_namespace(const View& view, std::string_view name) {
  return read(view, Table::kNamespaces, name, decode_namespace);
}

void write_namespace(Transaction& tx, std::string_view name, const NamespaceRecord& record) {
  tx.put(Table::kNamespaces, name, encode(record));
}

void erase_namespace(Transaction& tx, std::string_view name) { tx.erase(Table::kNamespaces, name); }

Status each_workflow(const View& view,
                     const std::function<void(NamespaceNumber space, std::string_view id,
                                              const WorkflowRecord&)>& see) {
  return walk(view, Table::kWorkflows, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                Reader reader(key);
                const auto space = NamespaceNumber(reader.u32());
                see(space, reader.rest(), TRY(decode_workflow(value)));
                return true;
              });
}

Status each_workflow(const View& view, NamespaceNumber space,
                     const std::function<void(std::string_view id, const WorkflowRecord&)>& see) {
  const std::string prefix = space_prefix(space);
  return walk(view, Table::kWorkflows, prefix, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(key.substr(prefix.size()), TRY(decode_workflow(value)));
                return true;
              });
}

Result<std::optional<WorkflowRecord>> read_workflow(const View& view, NamespaceNumber space,
                                                    std::string_view id) {
  return read(view, Table::kWorkflows, space_prefix(space).append(id), decode_workflow);
}

void write_workflow(Transaction& tx, NamespaceNumber space, std::string_view id,
                    const WorkflowRecord& record) {
  tx.put(Table::kWorkflows, space_prefix(space).append(id), encode(record));
}

void erase_workflow(Transaction& tx, NamespaceNumber space, std::string_view id) {
  tx.erase(Table::kWorkflows, space_prefix(space).append(id));
}

Result<std::optional<DefinitionRecord>> read_definition(const View& view, Revision revision) {
  return read(view, Table::kDefinitions, definition_key(revision), decode_definition);
}

void write_definition(Transaction& tx, Revision revision, const DefinitionRecord& record) {
  tx.put(Table::kDefinitions, definition_key(revision), encode(record));
}

Result<std::optional<Instance>> read_living(const View& view, NamespaceNumber space,
                                            const InstanceId& id) {
  const std::string prefix = instance_prefix(space, id);
  auto instance = TRY(read_head(view, Table::kLive, prefix));
  if (instance) TRY(add_data(view, Table::kLive, prefix, *instance));
  return instance;
}

Result<std::optional<Instance>> read_living_head(const View& view, NamespaceNumber space,
                                                 const InstanceId& id) {
  return read_head(view, Table::kLive, instance_prefix(space, id));
}

Result<std::optional<Instance>> read_instance(const View& view, NamespaceNumber space,
                                              const InstanceId& id) {
  const std::string prefix = instance_prefix(space, id);
  for (const Table table : {Table::kLive, Table::kEnded}) {
    auto instance = TRY(read_head(view, table, prefix));
    if (!instance) continue;
    TRY(add_data(view, table, prefix, *instance));
    auto input = TRY(read_text(view, table, part_key(prefix, Part::kInput)));
    if (input) instance->input = LazyJson::of_text(std::move(*input));
    return instance;
  }
  return std::optional<Instance>();
}

void write_instance(Transaction& tx, const Instance& instance, Changed changed) {
  const std::string prefix = instance_prefix(instance.space, instance.id);
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
  if (changed.input) return;  // it came and went in one batch: nothing of it stands elsewhere
  // The rows that did not change move over as they are; an ended instance has no slots.
  for (const Part part : {Part::kInput, Part::kData, Part::kFailedData}) {
    if (part == Part::kData && changed.data) continue;
    if (part == Part::kFailedData && changed.failed_data) continue;
    if (const auto bytes = tx.get(Table::kLive, part_key(prefix, part))) {
      tx.put(table, part_key(prefix, part), std::string(*bytes));
    }
  }
  for (const Part part : {Part::kHead, Part::kInput, Part::kData, Part::kSlots, Part::kFoundData,
                          Part::kFailedData}) {
    tx.erase(Table::kLive, part_key(prefix, part));
  }
}

Status each_living(const View& view, const std::function<void(Instance head)>& see) {
  return walk(view, Table::kLive, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                if (!is_head(key)) return true;
                see(TRY(rows::decode(view, Table::kLive, key, value, decode_head)));
                return true;
              });
}

Status each_living(const View& view, NamespaceNumber space, const std::optional<InstanceId>& behind,
                   const std::function<bool(const Instance& head)>& see) {
  // Behind all of its parts.
  const std::string from = behind ? instance_prefix(space, *behind).append("\xff") : "";
  return walk(view, Table::kLive, space_prefix(space), from,
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                if (!is_head(key)) return true;
                return see(TRY(rows::decode(view, Table::kLive, key, value, decode_head)));
              });
}

namespace {

/// The next head of one table, going backward from `from`; nullopt at the end.
Result<std::optional<Instance>> head_before(const View& view, Table table,
                                            const std::string& prefix, std::string& from) {
  std::optional<Instance> found;
  Status status;
  const std::string start = from;
  view.scan(table, prefix, start, Direction::kBackward,
            [&](std::string_view key, std::string_view value) {
              from.assign(key);
              if (!is_head(key)) return true;
              Result<Instance> head = rows::decode(view, table, key, value, decode_head);
              if (head) {
                found = std::move(*head);
              } else {
                status = tl::unexpected(head.error());
              }
              return false;
            });
  TRY(std::move(status));
  TRY(view.status());
  return found;
}

}  // namespace

Status each_instance_backward(const View& view, NamespaceNumber space,
                              const std::optional<InstanceId>& before,
                              const std::function<bool(const Instance& head)>& see) {
  const std::string prefix = space_prefix(space);
  std::string from_live = before ? instance_prefix(space, *before) : std::string();
  std::string from_ended = from_live;
  auto live = TRY(head_before(view, Table::kLive, prefix, from_live));
  auto ended = TRY(head_before(view, Table::kEnded, prefix, from_ended));
  while (live || ended) {
    const bool take_live = live && (!ended || live->id > ended->id);
    if (!see(take_live ? *live : *ended)) return {};
    if (take_live) {
      live = TRY(head_before(view, Table::kLive, prefix, from_live));
    } else {
      ended = TRY(head_before(view, Table::kEnded, prefix, from_ended));
    }
  }
  return {};
}

void erase_ended(Transaction& tx, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.space, instance.id);
  for (const Part part : {Part::kHead, Part::kInput, Part::kData, Part::kFailedData}) {
    tx.erase(Table::kEnded, part_key(prefix, part));
  }
}

void erase_instance(Transaction& tx, const Instance& instance) {
  erase_ended(tx, instance);
  if (!instance.idempotency_key.empty()) {
    tx.erase(Table::kIdempotency,
             workflow_prefix(instance.revision.workflow).append(instance.idempotency_key));
  }
}

void write_history(Transaction& tx, uint64_t number, const HistoryRow& row) {
  rows::put(tx, Table::kHistory, key_of(number), encode(row), row.sealed);
}

Result<std::vector<HistoryRecord>> read_history(const View& view, const Instance& instance) {
  std::vector<HistoryRow> rows;
  for (uint64_t number = instance.last_history; number != 0; number = rows.back().previous) {
    auto row = TRY(read(view, Table::kHistory, key_of(number), decode_history));
    if (!row) break;  // older rows may have been removed
    if (row->previous >= number) return fail("store.corrupt", "a history row names no older one");
    for (const size_t i : row->with_input) row->records[i].data = instance.input;
    rows.push_back(std::move(*row));
  }
  std::vector<HistoryRecord> records;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    for (HistoryRecord& record : row->records) records.push_back(std::move(record));
  }
  return records;
}

void write_outbox(Transaction& tx, uint64_t number, const OutboxRecord& record) {
  rows::put(tx, Table::kOutbox, key_of(number), encode(record), record.sealed);
}

Result<OutboxRecord> decode_outbox(const View& view, uint64_t number, std::string_view row) {
  return rows::decode<OutboxRecord>(view, Table::kOutbox, key_of(number), row, decode_outbox);
}

void erase_outbox(Transaction& tx, uint64_t number) { tx.erase(Table::kOutbox, key_of(number)); }

Result<std::optional<OutboxRecord>> read_outbox(const View& view, uint64_t number) {
  return read<OutboxRecord>(view, Table::kOutbox, key_of(number), decode_outbox);
}

Status each_outbox(
    const View& view, uint64_t from,
    const std::function<Result<bool>(uint64_t number, std::string_view record)>& see) {
  return walk(view, Table::kOutbox, {}, key_of(from),
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                return see(number_of(key), value);
              });
}

void write_sent(Transaction& tx, uint64_t number, const SentRecord& record) {
  tx.put(Table::kSent, key_of(number), encode(record));
}

void erase_sent(Transaction& tx, uint64_t number) { tx.erase(Table::kSent, key_of(number)); }

Status each_sent(const View& view,
                 const std::function<void(uint64_t number, SentRecord record)>& see) {
  return walk(view, Table::kSent, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(number_of(key), TRY(decode_sent(value)));
                return true;
              });
}

void write_delayed(Transaction& tx, uint64_t number, const DelayedRecord& record) {
  rows::put(tx, Table::kDelayed, key_of(number), encode(record), record.sealed);
}

void erase_delayed(Transaction& tx, uint64_t number) { tx.erase(Table::kDelayed, key_of(number)); }

Result<std::optional<DelayedRecord>> read_delayed(const View& view, uint64_t number) {
  return read(view, Table::kDelayed, key_of(number), decode_delayed);
}

Status each_delayed(const View& view,
                    const std::function<void(uint64_t number, const DelayedRecord&)>& see) {
  return walk(view, Table::kDelayed, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(number_of(key),
                    TRY(rows::decode(view, Table::kDelayed, key, value, decode_delayed)));
                return true;
              });
}

void write_schedule(Transaction& tx, WorkflowNumber workflow, const ScheduleRecord& record) {
  tx.put(Table::kSchedules, workflow_prefix(workflow), encode(record));
}

void erase_schedule(Transaction& tx, WorkflowNumber workflow) {
  tx.erase(Table::kSchedules, workflow_prefix(workflow));
}

Result<std::optional<ScheduleRecord>> read_schedule(const View& view, WorkflowNumber workflow) {
  return read(view, Table::kSchedules, workflow_prefix(workflow), decode_schedule);
}

Result<std::optional<std::vector<uint32_t>>> read_counts(const View& view, WorkflowNumber workflow,
                                                         const Fingerprint& group) {
  return read(view, Table::kGroups, counts_key(workflow, group), decode_counts);
}

void write_counts(Transaction& tx, WorkflowNumber workflow, const Fingerprint& group,
                  const std::vector<uint32_t>& waiting) {
  const std::string key = counts_key(workflow, group);
  if (std::all_of(waiting.begin(), waiting.end(), [](uint32_t count) { return count == 0; })) {
    tx.erase(Table::kGroups, key);
  } else {
    tx.put(Table::kGroups, key, encode_counts(waiting));
  }
}

Status each_group(const View& view, WorkflowNumber workflow,
                  const std::optional<Fingerprint>& behind,
                  const std::function<Result<bool>(const Fingerprint& group,
                                                   const std::vector<uint32_t>& waiting)>& see) {
  const std::string prefix = static_cast<char>(kCountsRow) + workflow_prefix(workflow);
  // The first key behind one is that key and a zero byte.
  const std::string from = behind ? counts_key(workflow, *behind) + '\0' : std::string();
  return walk(view, Table::kGroups, prefix, from,
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                Reader reader(key.substr(prefix.size()));
                const Fingerprint group = reader.id();
                if (!reader.done()) return fail("store.corrupt", "a key of a group is damaged");
                return see(group, TRY(decode_counts(value)));
              });
}

void write_grouped(Transaction& tx, const GroupedEvent& event) {
  std::string key = queue_key(event.queue, event.number);
  tx.put(Table::kGroups, number_key(event.number), key);
  tx.put(Table::kGroups, key, encode(event.record));
}

void erase_grouped(Transaction& tx, const GroupQueue& queue, uint64_t number) {
  tx.erase(Table::kGroups, queue_key(queue, number));
  tx.erase(Table::kGroups, number_key(number));
}

Result<std::optional<GroupedEvent>> read_first_grouped(const View& view, const GroupQueue& queue) {
  std::optional<GroupedEvent> found;
  TRY(walk(view, Table::kGroups, queue_prefix(queue), {},
           [&](std::string_view key, std::string_view value) -> Result<bool> {
             found = TRY(grouped_of(key, value));
             return false;
           }));
  return found;
}

Result<std::optional<GroupedEvent>> read_grouped(const View& view, uint64_t number) {
  const auto key = view.get(Table::kGroups, number_key(number));
  if (!key) {
    TRY(view.status());
    return std::optional<GroupedEvent>();
  }
  if (key->empty() || key->size() > kMaxKeySize) {
    return fail("store.corrupt", "a grouped event's number leads to no key");
  }
  const auto value = view.get(Table::kGroups, *key);
  if (!value) return fail("store.corrupt", "a grouped event's number leads nowhere");
  return std::optional<GroupedEvent>(TRY(grouped_of(*key, *value)));
}

Status each_grouped(const View& view, const std::function<void(const GroupedEvent&)>& see) {
  const std::string prefix(1, static_cast<char>(kQueueRow));
  return walk(view, Table::kGroups, prefix, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(TRY(grouped_of(key, value)));
                return true;
              });
}

Result<bool> close_groups(Transaction& tx, WorkflowNumber workflow, uint64_t up_to, std::string& at,
                          PurgeBudget& budget,
                          const std::function<void(const GroupedEvent&)>& see) {
  const std::string queues = static_cast<char>(kQueueRow) + workflow_prefix(workflow);
  bool done = true;
  std::vector<GroupedEvent> events;
  TRY(walk(tx, Table::kGroups, queues, at,
           [&](std::string_view key, std::string_view value) -> Result<bool> {
             if (budget.is_spent()) {
               done = false;
               at = key;
               return false;
             }
             budget.look(key.size() + value.size());
             GroupedEvent event = TRY(grouped_of(key, value));
             if (event.number > up_to) return true;
             budget.erase();
             events.push_back(std::move(event));
             return true;
           }));
  for (const GroupedEvent& event : events) {
    see(event);
    erase_grouped(tx, event.queue, event.number);
    tx.erase(Table::kGroups, counts_key(workflow, event.queue.group));
  }
  return done;
}

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
  if (!reader.done()) return fail("store.corrupt", "a key of a kept event is damaged");
  return place;
}

}  // namespace

void write_recent(Transaction& tx, const RecentPlace& place, const RecentRecord& record) {
  tx.put(Table::kRecent, recent_key(place), encode(record));
}

void erase_recent(Transaction& tx, const RecentPlace& place) {
  tx.erase(Table::kRecent, recent_key(place));
}

Status each_recent(const View& view,
                   const std::function<void(const RecentPlace&, const RecentRecord&)>& see) {
  return walk(view, Table::kRecent, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(TRY(recent_place(key)), TRY(decode_recent(value)));
                return true;
              });
}

Status each_recent_of_type(const View& view, const RecentPlace& from,
                           const std::function<bool(uint64_t number, const RecentRecord&)>& see) {
  return walk(view, Table::kRecent, recent_prefix(from), recent_key(from),
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                return see(TRY(recent_place(key)).number, TRY(decode_recent(value)));
              });
}

Result<std::optional<RecentRecord>> read_recent(const View& view, const RecentPlace& place) {
  return read(view, Table::kRecent, recent_key(place), decode_recent);
}

void write_fan_out(Transaction& tx, uint64_t number) { tx.put(Table::kFanout, key_of(number), ""); }

void erase_fan_out(Transaction& tx, uint64_t number) { tx.erase(Table::kFanout, key_of(number)); }

Status each_fan_out(const View& view, const std::function<void(uint64_t number)>& see) {
  return walk(view, Table::kFanout, {}, {}, [&](std::string_view key, auto) -> Result<bool> {
    see(TRY(decode_number(key)));
    return true;
  });
}

void write_inbox(Transaction& tx, uint64_t number, const InboxRecord& record) {
  rows::put(tx, Table::kInbox, key_of(number), encode(record), record.sealed);
}

void erase_inbox(Transaction& tx, uint64_t number) { tx.erase(Table::kInbox, key_of(number)); }

Status each_inbox(const View& view,
                  const std::function<void(uint64_t number, InboxRecord record)>& see) {
  return walk(view, Table::kInbox, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(number_of(key),
                    TRY(rows::decode(view, Table::kInbox, key, value, decode_inbox)));
                return true;
              });
}

namespace {

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
                                            const std::vector<Fingerprint>& events)>& see) {
  return walk(view, Table::kDedupe, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                Reader place(key);
                const TimePoint time = from_millis(static_cast<int64_t>(place.u64()));
                const uint64_t sequence = place.u64();
                if (!place.done()) return fail("store.corrupt", "a dedupe row is damaged");
                see(time, sequence, TRY(decode_dedupe(value)));
                return true;
              });
}

void write_task(Transaction& tx, const StartTask& task) {
  rows::put(tx, Table::kTasks, rows::key_of(task.task), encode(task), task.sealed);
}

Result<std::optional<StartTask>> read_task(const View& view, const InstanceId& task) {
  return read(view, Table::kTasks, rows::key_of(task), decode_task);
}

void erase_task(Transaction& tx, const InstanceId& task) {
  tx.erase(Table::kTasks, rows::key_of(task));
}

Status each_task(const View& view, const std::function<void(StartTask task)>& see) {
  return walk(view, Table::kTasks, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(TRY(rows::decode(view, Table::kTasks, key, value, decode_task)));
                return true;
              });
}

void write_hook(Transaction& tx, uint64_t number, const HookRecord& record) {
  rows::put(tx, Table::kHooks, key_of(number), encode(record), record.sealed);
}

void erase_hook(Transaction& tx, uint64_t number) { tx.erase(Table::kHooks, key_of(number)); }

Result<std::optional<HookRecord>> read_hook(const View& view, uint64_t number) {
  return read(view, Table::kHooks, key_of(number), decode_hook);
}

Status each_hook(const View& view,
                 const std::function<void(uint64_t number, const HookRecord& record)>& see) {
  return walk(view, Table::kHooks, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(number_of(key),
                    TRY(rows::decode(view, Table::kHooks, key, value, decode_hook)));
                return true;
              });
}

Result<LazyJson> read_input(const View& view, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.space, instance.id);
  auto text = TRY(read_text(view, Table::kLive, part_key(prefix, Part::kInput)));
  if (text) return LazyJson::of_text(std::move(*text));
  return fail("store.corrupt", fmt::format("instance {} has no input", to_string(instance.id)));
}

Result<std::optional<TimePoint>> read_last_moved(const View& view, NamespaceNumber space,
                                                 const InstanceId& id) {
  const auto head = TRY(read_head(view, Table::kLive, instance_prefix(space, id)));
  if (!head) return std::optional<TimePoint>();
  const auto row = TRY(read(view, Table::kHistory, key_of(head->last_history), decode_history));
  if (!row || row->records.empty()) return std::optional<TimePoint>(head->started_at);
  return std::optional<TimePoint>(row->records.back().time);
}

Result<std::optional<IdempotencyRecord>> read_idempotency(const View& view, WorkflowNumber workflow,
                                                          std::string_view key) {
  return read(view, Table::kIdempotency, workflow_prefix(workflow).append(key), decode_idempotency);
}

void write_idempotency(Transaction& tx, WorkflowNumber workflow, std::string_view key,
                       const IdempotencyRecord& record) {
  tx.put(Table::kIdempotency, workflow_prefix(workflow).append(key), encode(record));
}

}  // namespace millrace
