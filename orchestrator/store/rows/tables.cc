#include "orchestrator/store/rows/tables.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/codec.h"
#include "cloudevents/json_format.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {
namespace {

using rows::instance_prefix;
using rows::is_head;
using rows::key_of;
using rows::number_of;
using rows::numbered;
using rows::read;
using rows::read_json;
using rows::read_text;
using rows::space_prefix;
using rows::walk;
using rows::workflow_prefix;

/// In place of an ended instance's data: the history has it.
constexpr std::string_view kInHistory;

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

Result<GroupedEvent> grouped_of(const View& view, std::string_view key, std::string_view value) {
  Reader reader(key);
  GroupedEvent event;
  reader.u8();
  event.queue.workflow = WorkflowNumber(reader.u32());
  event.queue.group = reader.id();
  const uint8_t high = reader.u8();
  event.queue.entry = static_cast<uint16_t>(high << 8 | reader.u8());
  event.number = reader.u64();
  if (!reader.done() || event.number == 0 || event.number > kMostNumber) {
    return tl::unexpected(damaged_row(Table::kGroups, key, "its key is not one of an event"));
  }
  event.record = TRY(rows::decode(view, Table::kGroups, key, value, decode_grouped));
  return event;
}

std::string counter_key(Counter counter) {
  return std::string(kCounterKey) + static_cast<char>(counter);
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

/// A row that an instance has to have is not there.
tl::unexpected<Error> missing_part(Table table, const std::string& key, std::string_view why) {
  return tl::unexpected(damaged_row(table, key, fmt::format("it is missing{}", std::string(why))));
}

/// The data of an ended instance whose own row says that the history has it.
Result<bool> is_in_history(const View& view, Table table, const std::string& key) {
  if (table != Table::kEnded) return false;
  const auto text = TRY(read_text(view, table, key));
  return text && *text == kInHistory;
}

/// Adds the data to a head: from its own row, or, as long as it never changed, the input's.
Status add_data(const View& view, Table table, const std::string& prefix, Instance& instance) {
  const std::string data_key = part_key(prefix, Part::kData);
  if (TRY(is_in_history(view, table, data_key))) {
    auto text = TRY(data_of_history(view, table, prefix, instance));
    if (!text)
      return missing_part(Table::kHistory, key_of(instance.last_history),
                          ", or has no data, and the data of an instance stood in it");
    instance.data = LazyJson::of_text(std::move(*text));
  } else {
    auto data = TRY(read_json(view, table, data_key));
    const std::string input_key = part_key(prefix, Part::kInput);
    if (!data) data = TRY(read_json(view, table, input_key));
    if (!data) return missing_part(table, input_key, "");
    instance.data = std::move(*data);
  }
  auto slots = TRY(read(view, table, part_key(prefix, Part::kSlots), decode_slots));
  if (slots) instance.slots = std::move(*slots);
  instance.found_data = TRY(read_json(view, table, part_key(prefix, Part::kFoundData)));
  if (instance.failed_data) {
    const std::string failed_key = part_key(prefix, Part::kFailedData);
    auto failed = TRY(read_json(view, table, failed_key));
    if (!failed) return missing_part(table, failed_key, ", and the head tells of it");
    instance.failed_data = std::move(*failed);
  }
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    const std::string key = call_key(prefix, i);
    auto call = TRY(read(view, table, key, decode_call));
    if (!call) {
      return missing_part(table, key,
                          fmt::format(", and the head tells of {} calls", instance.calls.size()));
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

/// A head that belongs to its key and its table.
Result<Instance> head_of(const View& view, Table table, std::string_view key,
                         std::string_view value) {
  Instance head = TRY(rows::decode(view, table, key, value, decode_head));
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_row(table, key, what));
  };
  if (part_key(instance_prefix(head.space, head.id), Part::kHead) != key) {
    return damaged("it is the head of another instance");
  }
  const bool has_ended = table == Table::kEnded;
  if (millrace::has_ended(head.status) != has_ended || (head.phase == Phase::kEnded) != has_ended ||
      head.ended_at.has_value() != has_ended) {
    return damaged(has_ended ? "it does not say that the instance has ended"
                             : "it says that the instance has ended");
  }
  return head;
}

Result<std::optional<Instance>> read_head(const View& view, Table table,
                                          const std::string& prefix) {
  const std::string key = part_key(prefix, Part::kHead);
  const auto bytes = view.get(table, key);
  if (!bytes) {
    TRY(view.status());
    return std::optional<Instance>();
  }
  return std::optional<Instance>(TRY(head_of(view, table, key, *bytes)));
}

}  // namespace

Result<Cursor> read_cursor(const View& view) {
  return TRY(read(view, Table::kMeta, kCursorKey, decode_cursor)).value_or(Cursor{});
}

void write_cursor(Transaction& tx, const Cursor& cursor) {
  tx.put(Table::kMeta, kCursorKey, encode(cursor));
}

Result<TimePoint> read_engine_time(const View& view) {
  const auto millis = TRY(read(view, Table::kMeta, kTimeKey, decode_number)).value_or(0);
  if (millis <= static_cast<uint64_t>(to_millis(kLastTime))) {
    return from_millis(static_cast<int64_t>(millis));
  }
  return tl::unexpected(damaged_row(Table::kMeta, kTimeKey,
                                    fmt::format("{} is not a time before the year 10000", millis)));
}

Error damaged_engine_time(std::string_view what) {
  return damaged_row(Table::kMeta, kTimeKey, what);
}

void write_engine_time(Transaction& tx, TimePoint time) {
  tx.put(Table::kMeta, kTimeKey, key_of(static_cast<uint64_t>(to_millis(time))));
}

Result<uint64_t> read_counter(const View& view, Counter counter) {
  const std::string key = counter_key(counter);
  const uint64_t last = TRY(read(view, Table::kMeta, key, decode_number)).value_or(0);
  if (last <= kMostNumber) return last;
  return tl::unexpected(
      damaged_row(Table::kMeta, key,
                  fmt::format("{} is more than the {} that can be given", last, kMostNumber)));
}

void write_counter(Transaction& tx, Counter counter, uint64_t last) {
  tx.put(Table::kMeta, counter_key(counter), key_of(last));
}

namespace {

/// The last number at the end of a key with that prefix; 0: there is none.
Result<uint64_t> last_number(const View& view, Table table, std::string_view prefix = {}) {
  uint64_t last = 0;
  view.scan(table, prefix, {}, Direction::kBackward, [&](std::string_view key, auto) {
    last = number_of(key.substr(prefix.size()));
    return false;
  });
  TRY(view.status());
  return last;
}

/// The highest number that a row has of what that counter counts.
Result<uint64_t> highest_number(const View& view, Counter counter) {
  uint64_t highest = 0;
  switch (counter) {
    case Counter::kNamespace:
      TRY(each_namespace(view, [&](auto, const NamespaceRecord& record) {
        highest = std::max<uint64_t>(highest, static_cast<uint32_t>(record.number));
      }));
      return highest;
    case Counter::kWorkflow:
      TRY(each_workflow(view, [&](auto, auto, const WorkflowRecord& record) {
        highest = std::max<uint64_t>(highest, static_cast<uint32_t>(record.number));
      }));
      return highest;
    case Counter::kHistory:
      return last_number(view, Table::kHistory);
    case Counter::kOutbox:
      return last_number(view, Table::kOutbox);
    case Counter::kDelayed:
      return last_number(view, Table::kDelayed);
    case Counter::kGrouped:
      return last_number(view, Table::kGroups, std::string(1, static_cast<char>(kNumberRow)));
    case Counter::kRecent:
      TRY(walk(view, Table::kRecent, {}, {}, [&](std::string_view key, auto) -> Result<bool> {
        const size_t prefix = std::min(key.size(), sizeof(uint32_t) + sizeof(Fingerprint));
        highest = std::max(highest, number_of(key.substr(prefix)));
        return true;
      }));
      return highest;
    case Counter::kInbox:
      return last_number(view, Table::kInbox);
    case Counter::kHook:
      return last_number(view, Table::kHooks);
  }
  return highest;
}

}  // namespace

Result<uint64_t> next_number(const View& view, Counter counter) {
  const bool is_short = counter == Counter::kNamespace || counter == Counter::kWorkflow;
  const uint64_t most = is_short ? std::numeric_limits<uint32_t>::max() : kMostNumber;
  const uint64_t last = TRY(read_counter(view, counter));
  if (last < most) return last + 1;
  return tl::unexpected(damaged_row(
      Table::kMeta, counter_key(counter),
      fmt::format("it is {}, and {} is the last number that can be given", last, most)));
}

Status check_counters(const View& view) {
  for (const Counter counter :
       {Counter::kNamespace, Counter::kWorkflow, Counter::kHistory, Counter::kOutbox,
        Counter::kDelayed, Counter::kGrouped, Counter::kRecent, Counter::kInbox, Counter::kHook}) {
    const uint64_t last = TRY(next_number(view, counter)) - 1;
    const uint64_t highest = TRY(highest_number(view, counter));
    if (highest <= last) continue;
    return tl::unexpected(
        damaged_row(Table::kMeta, counter_key(counter),
                    fmt::format("it is {}, and a row has the number {}", last, highest)));
  }
  return {};
}

Result<Event> event_of(Table table, std::string_view key, const std::string& json) {
  Result<Event> event = decode_json_event(json);
  if (event) return event;
  return tl::unexpected(
      damaged_row(table, key, fmt::format("its event does not decode: {}", event.error().message)));
}

Result<Event> event_of(uint64_t number, const DelayedRecord& record) {
  return event_of(Table::kDelayed, key_of(number), record.event);
}

Result<Event> event_of(uint64_t number, const HookRecord& record) {
  return event_of(Table::kHooks, key_of(number), record.event);
}

Result<Event> event_of(const GroupedEvent& event) {
  return event_of(Table::kGroups, queue_key(event.queue, event.number), event.record.event);
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
  if (!format) {
    bool is_used = false;
    tx.scan(Table::kNamespaces, {}, [&](auto, auto) { return !(is_used = true); });
    if (is_used) {
      return tl::unexpected(
          damaged_row(Table::kMeta, kFormatKey, "it is missing, and the store has namespaces"));
    }
  }
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
                see(key, TRY(rows::decode(view, Table::kNamespaces, key, value, decode_namespace)));
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
                see(space, reader.rest(),
                    TRY(rows::decode(view, Table::kWorkflows, key, value, decode_workflow)));
                return true;
              });
}

Status each_workflow(const View& view, NamespaceNumber space,
                     const std::function<void(std::string_view id, const WorkflowRecord&)>& see) {
  const std::string prefix = space_prefix(space);
  return walk(view, Table::kWorkflows, prefix, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                see(key.substr(prefix.size()),
                    TRY(rows::decode(view, Table::kWorkflows, key, value, decode_workflow)));
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

Status each_definition(const View& view, WorkflowNumber workflow,
                       const std::function<void(uint32_t revision, const DefinitionRecord&)>& see,
                       const OnDamage& damaged) {
  const std::string prefix = workflow_prefix(workflow);
  view.scan(Table::kDefinitions, prefix, {}, Direction::kBackward,
            [&](std::string_view key, std::string_view value) {
              const auto record =
                  rows::decode(view, Table::kDefinitions, key, value, decode_definition);
              if (record) {
                see(Reader(key.substr(prefix.size())).u32(), *record);
              } else {
                damaged(record.error());
              }
              return true;
            });
  return view.status();
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
    const std::string input_key = part_key(prefix, Part::kInput);
    auto input = TRY(read_json(view, table, input_key));
    if (!input) return missing_part(table, input_key, "");
    instance->input = std::move(*input);
    return instance;
  }
  return std::optional<Instance>();
}

Result<std::optional<Instance>> read_head_anywhere(const View& view, NamespaceNumber space,
                                                   const InstanceId& id) {
  const std::string prefix = instance_prefix(space, id);
  auto living = TRY(read_head(view, Table::kLive, prefix));
  if (living) return living;
  return read_head(view, Table::kEnded, prefix);
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
  const auto move = [&](Part part) {
    if (const auto bytes = tx.get(Table::kLive, part_key(prefix, part))) {
      tx.put(table, part_key(prefix, part), std::string(*bytes));
    }
  };
  move(Part::kInput);
  if (!changed.data) move(Part::kData);
  if (instance.failed_data && !changed.failed_data) move(Part::kFailedData);
  // An erased row is written too, so only what can be there is erased.
  const auto erase = [&](Part part) { tx.erase(Table::kLive, part_key(prefix, part)); };
  erase(Part::kHead);
  erase(Part::kInput);
  erase(Part::kData);
  if (changed.slots) erase(Part::kSlots);
  if (changed.found_data) erase(Part::kFoundData);
  if (instance.failed_data || changed.failed_data) erase(Part::kFailedData);
}

Status each_living(const View& view, const std::function<void(Instance head)>& see,
                   const OnDamage& damaged) {
  return walk(
      view, Table::kLive, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (!is_head(key)) return true;
        see(TRY(head_of(view, Table::kLive, key, value)));
        return true;
      },
      damaged);
}

Status each_living(const View& view, NamespaceNumber space, const std::optional<InstanceId>& behind,
                   const std::function<bool(const Instance& head)>& see, const OnDamage& damaged) {
  // Behind all of its parts.
  const std::string from = behind ? instance_prefix(space, *behind).append("\xff") : "";
  return walk(
      view, Table::kLive, space_prefix(space), from,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (!is_head(key)) return true;
        return see(TRY(head_of(view, Table::kLive, key, value)));
      },
      damaged);
}

namespace {

/// A head as a walk finds it.
struct FoundHead {
  InstanceId id;
  Result<Instance> head;
};

/// The next head of one table, going backward from `from`; nullopt at the end.
Result<std::optional<FoundHead>> head_before(const View& view, Table table,
                                             const std::string& prefix, std::string& from) {
  std::optional<FoundHead> found;
  const std::string start = from;
  view.scan(table, prefix, start, Direction::kBackward,
            [&](std::string_view key, std::string_view value) {
              from.assign(key);
              if (!is_head(key)) return true;
              found = FoundHead{.id = {Reader(key.substr(sizeof(uint32_t))).id()},
                                .head = head_of(view, table, key, value)};
              return false;
            });
  TRY(view.status());
  return found;
}

}  // namespace

Status each_instance_backward(
    const View& view, NamespaceNumber space, const std::optional<InstanceId>& before,
    const std::function<bool(const Instance& head)>& see,
    const std::function<bool(const InstanceId& id, const Error&)>& damaged) {
  const std::string prefix = space_prefix(space);
  std::string from_live = before ? instance_prefix(space, *before) : std::string();
  std::string from_ended = from_live;
  auto live = TRY(head_before(view, Table::kLive, prefix, from_live));
  auto ended = TRY(head_before(view, Table::kEnded, prefix, from_ended));
  while (live || ended) {
    const bool take_live = live && (!ended || live->id > ended->id);
    const FoundHead& next = take_live ? *live : *ended;
    if (!next.head && !damaged) return tl::unexpected(next.head.error());
    if (!(next.head ? see(*next.head) : damaged(next.id, next.head.error()))) return {};
    if (take_live) {
      live = TRY(head_before(view, Table::kLive, prefix, from_live));
    } else {
      ended = TRY(head_before(view, Table::kEnded, prefix, from_ended));
    }
  }
  return {};
}

Error damaged_definition(Revision revision, std::string_view what) {
  return damaged_row(Table::kDefinitions, definition_key(revision), what);
}

Error damaged_workflow(NamespaceNumber space, std::string_view id, std::string_view what) {
  return damaged_row(Table::kWorkflows, space_prefix(space).append(id), what);
}

Error damaged_schedule(WorkflowNumber workflow, std::string_view what) {
  return damaged_row(Table::kSchedules, workflow_prefix(workflow), what);
}

Error damaged_instance(NamespaceNumber space, const InstanceId& id, std::string_view what) {
  return damaged_row(Table::kLive, part_key(instance_prefix(space, id), Part::kHead), what);
}

void erase_ended(Transaction& tx, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.space, instance.id);
  for (const Part part : {Part::kHead, Part::kInput, Part::kData, Part::kFailedData}) {
    tx.erase(Table::kEnded, part_key(prefix, part));
  }
}

Result<size_t> erase_parts(Transaction& tx, NamespaceNumber space, const InstanceId& id) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  const std::string prefix = instance_prefix(space, id);
  const size_t living = TRY(rows::erase_some(tx, Table::kLive, prefix, kAll));
  return living + TRY(rows::erase_some(tx, Table::kEnded, prefix, kAll));
}

void erase_idempotency(Transaction& tx, const Instance& head) {
  if (head.idempotency_key.empty()) return;
  tx.erase(Table::kIdempotency,
           workflow_prefix(head.revision.workflow).append(head.idempotency_key));
}

void erase_instance(Transaction& tx, const Instance& instance) {
  erase_ended(tx, instance);
  erase_idempotency(tx, instance);
}

void write_history(Transaction& tx, uint64_t number, const HistoryRow& row) {
  rows::put(tx, Table::kHistory, key_of(number), encode(row), row.sealed);
}

Result<std::vector<HistoryRecord>> read_history(const View& view, const Instance& instance) {
  std::vector<HistoryRow> rows;
  for (uint64_t number = instance.last_history; number != 0; number = rows.back().previous) {
    auto row = TRY(read(view, Table::kHistory, key_of(number), decode_history));
    if (!row) break;  // older rows may have been removed
    if (row->previous >= number || row->instance != instance.id) {
      return tl::unexpected(damaged_row(Table::kHistory, key_of(number),
                                        row->instance != instance.id
                                            ? "it belongs to another instance"
                                            : "it names itself or a newer row as the one before"));
    }
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

Status each_outbox(const View& view, uint64_t from,
                   const std::function<Result<bool>(uint64_t number, std::string_view record)>& see,
                   const OnDamage& damaged) {
  return walk(
      view, Table::kOutbox, {}, key_of(from),
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        return see(TRY(numbered(Table::kOutbox, key)), value);
      },
      damaged);
}

void write_sent(Transaction& tx, uint64_t number, const SentRecord& record) {
  tx.put(Table::kSent, key_of(number), encode(record));
}

void erase_sent(Transaction& tx, uint64_t number) { tx.erase(Table::kSent, key_of(number)); }

Status each_sent(const View& view,
                 const std::function<void(uint64_t number, SentRecord record)>& see,
                 const OnDamage& damaged) {
  return walk(
      view, Table::kSent, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        see(TRY(numbered(Table::kSent, key)),
            TRY(rows::decode(view, Table::kSent, key, value, decode_sent)));
        return true;
      },
      damaged);
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
        see(TRY(numbered(Table::kDelayed, key)),
            TRY(rows::decode(view, Table::kDelayed, key, value, decode_delayed)));
        return true;
      },
      damaged);
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

Error damaged_counts(WorkflowNumber workflow, const Fingerprint& group, std::string_view what) {
  return damaged_row(Table::kGroups, counts_key(workflow, group), what);
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
  return walk(
      view, Table::kGroups, prefix, from,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        Reader reader(key.substr(prefix.size()));
        const Fingerprint group = reader.id();
        if (!reader.done()) {
          return tl::unexpected(damaged_row(Table::kGroups, key, "its key is not one of a group"));
        }
        return see(group, TRY(rows::decode(view, Table::kGroups, key, value, decode_counts)));
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

Result<std::optional<GroupedEvent>> read_first_grouped(const View& view, const GroupQueue& queue,
                                                       const OnDamage& damaged) {
  std::optional<GroupedEvent> found;
  TRY(walk(
      view, Table::kGroups, queue_prefix(queue), {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        GroupedEvent event = TRY(grouped_of(view, key, value));
        TRY(event_of(event));
        found = std::move(event);
        return false;
      },
      damaged));
  return found;
}

Result<std::vector<uint32_t>> count_grouped(const View& view, WorkflowNumber workflow,
                                            const Fingerprint& group, size_t entries,
                                            const OnDamage& damaged) {
  Writer prefix;
  prefix.u8(kQueueRow);
  prefix.u32(static_cast<uint32_t>(workflow));
  prefix.id(group);
  std::vector<uint32_t> waiting(entries, 0);
  TRY(walk(
      view, Table::kGroups, prefix.view(), {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const GroupedEvent event = TRY(grouped_of(view, key, value));
        TRY(event_of(event));
        if (event.queue.entry >= entries) {
          return tl::unexpected(damaged_row(
              Table::kGroups, key, fmt::format("its workflow's start has {} events", entries)));
        }
        ++waiting[event.queue.entry];
        return true;
      },
      damaged));
  return waiting;
}

Result<std::optional<GroupedEvent>> read_grouped(const View& view, uint64_t number) {
  const auto key = view.get(Table::kGroups, number_key(number));
  if (!key) {
    TRY(view.status());
    return std::optional<GroupedEvent>();
  }
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_row(Table::kGroups, number_key(number), what));
  };
  if (key->empty() || key->size() > kMaxKeySize) return damaged("it leads to no key");
  const std::string at(*key);
  const auto value = view.get(Table::kGroups, at);
  if (!value) return damaged("it leads to a row that is not there");
  GroupedEvent event = TRY(grouped_of(view, at, *value));
  if (event.number != number) return damaged("it leads to another event");
  return std::optional<GroupedEvent>(std::move(event));
}

Status each_grouped(const View& view, const std::function<void(const GroupedEvent&)>& see,
                    const OnDamage& damaged) {
  const std::string prefix(1, static_cast<char>(kQueueRow));
  return walk(
      view, Table::kGroups, prefix, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        see(TRY(grouped_of(view, key, value)));
        return true;
      },
      damaged);
}

Result<bool> close_groups(
    Transaction& tx, WorkflowNumber workflow, uint64_t up_to, std::string& at, PurgeBudget& budget,
    const std::function<Result<bool>(const GroupedEvent&, const Event& event)>& see,
    const OnDamage& damaged) {
  const std::string queues = static_cast<char>(kQueueRow) + workflow_prefix(workflow);
  bool done = true;
  std::vector<std::pair<GroupedEvent, Event>> events;
  TRY(walk(
      tx, Table::kGroups, queues, at,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (budget.is_spent()) {
          done = false;
          at = key;
          return false;
        }
        budget.look(key.size() + value.size());
        GroupedEvent grouped = TRY(grouped_of(tx, key, value));
        if (grouped.number > up_to) return true;
        Event event = TRY(event_of(grouped));
        budget.erase();
        events.emplace_back(std::move(grouped), std::move(event));
        return true;
      },
      damaged));
  for (const auto& [grouped, event] : events) {
    if (!TRY(see(grouped, event))) continue;
    erase_grouped(tx, grouped.queue, grouped.number);
    tx.erase(Table::kGroups, counts_key(workflow, grouped.queue.group));
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
  if (!reader.done() || place.number == 0 || place.number > kMostNumber) {
    return tl::unexpected(damaged_row(Table::kRecent, key, "its key is not one of a kept event"));
  }
  return place;
}

}  // namespace

Result<Event> event_of(const RecentPlace& place, const RecentRecord& record) {
  return event_of(Table::kRecent, recent_key(place), record.event);
}

void write_recent(Transaction& tx, const RecentPlace& place, const RecentRecord& record) {
  tx.put(Table::kRecent, recent_key(place), encode(record));
}

void erase_recent(Transaction& tx, const RecentPlace& place) {
  tx.erase(Table::kRecent, recent_key(place));
}

Status each_recent(const View& view,
                   const std::function<void(const RecentPlace&, const RecentRecord&)>& see,
                   const OnDamage& damaged) {
  return walk(
      view, Table::kRecent, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        see(TRY(recent_place(key)),
            TRY(rows::decode(view, Table::kRecent, key, value, decode_recent)));
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
        return see(TRY(recent_place(key)).number,
                   TRY(rows::decode(view, Table::kRecent, key, value, decode_recent)));
      },
      damaged);
}

Result<std::optional<RecentRecord>> read_recent(const View& view, const RecentPlace& place) {
  return read(view, Table::kRecent, recent_key(place), decode_recent);
}

Error damaged_fan_out(uint64_t number, std::string_view what) {
  return damaged_row(Table::kFanout, key_of(number), what);
}

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

Error damaged_errand(uint64_t number, std::string_view what) {
  return damaged_row(Table::kInbox, key_of(number), what);
}

void write_inbox(Transaction& tx, uint64_t number, const InboxRecord& record) {
  rows::put(tx, Table::kInbox, key_of(number), encode(record), record.sealed);
}

void erase_inbox(Transaction& tx, uint64_t number) { tx.erase(Table::kInbox, key_of(number)); }

Status each_inbox(const View& view,
                  const std::function<void(uint64_t number, InboxRecord record)>& see,
                  const OnDamage& damaged) {
  return walk(
      view, Table::kInbox, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        see(TRY(numbered(Table::kInbox, key)),
            TRY(rows::decode(view, Table::kInbox, key, value, decode_inbox)));
        return true;
      },
      damaged);
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

void write_task(Transaction& tx, const StartTask& task) {
  rows::put(tx, Table::kTasks, rows::key_of(task.task), encode(task), task.sealed);
}

Result<std::optional<StartTask>> read_task(const View& view, const InstanceId& task) {
  return read(view, Table::kTasks, rows::key_of(task), decode_task);
}

void erase_task(Transaction& tx, const InstanceId& task) {
  tx.erase(Table::kTasks, rows::key_of(task));
}

Status each_task(const View& view, const std::function<void(StartTask task)>& see,
                 const OnDamage& damaged) {
  return walk(
      view, Table::kTasks, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        StartTask task = TRY(rows::decode(view, Table::kTasks, key, value, decode_task));
        if (rows::key_of(task.task) != key) {
          return tl::unexpected(damaged_row(Table::kTasks, key, "it is another task"));
        }
        see(std::move(task));
        return true;
      },
      damaged);
}

void write_hook(Transaction& tx, uint64_t number, const HookRecord& record) {
  rows::put(tx, Table::kHooks, key_of(number), encode(record), record.sealed);
}

void erase_hook(Transaction& tx, uint64_t number) { tx.erase(Table::kHooks, key_of(number)); }

Result<std::optional<HookRecord>> read_hook(const View& view, uint64_t number) {
  return read(view, Table::kHooks, key_of(number), decode_hook);
}

Status each_hook(const View& view,
                 const std::function<void(uint64_t number, const HookRecord& record)>& see,
                 const OnDamage& damaged) {
  return walk(
      view, Table::kHooks, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        see(TRY(numbered(Table::kHooks, key)),
            TRY(rows::decode(view, Table::kHooks, key, value, decode_hook)));
        return true;
      },
      damaged);
}

Result<LazyJson> read_input(const View& view, const Instance& instance) {
  const std::string prefix = instance_prefix(instance.space, instance.id);
  const std::string key = part_key(prefix, Part::kInput);
  auto input = TRY(read_json(view, Table::kLive, key));
  if (!input) return missing_part(Table::kLive, key, "");
  return std::move(*input);
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
