#include "orchestrator/store/rows/task_rows.h"

#include <utility>
#include <variant>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Since version 2 a task's row has `start_to_close`, the timeout of an attempt; since version 3 it
/// says whether a service has accepted the task. Only a task with progress has version 4, only one
/// with a slot version 5, only one with a throttle version 6, and only one with a timeout of its
/// slot version 7.
constexpr uint8_t kTaskVersion = 7;
constexpr uint8_t kTaskVersionOfThrottle = 6;
constexpr uint8_t kTaskVersionOfSlot = 5;
constexpr uint8_t kTaskVersionOfProgress = 4;
constexpr uint8_t kTaskVersionWithoutProgress = 3;

uint8_t version_of(const StartTask& task) {
  if (task.slot && task.slot->timeout) return kTaskVersion;
  if (task.throttle) return kTaskVersionOfThrottle;
  if (task.slot) return kTaskVersionOfSlot;
  return task.progress.empty() ? kTaskVersionWithoutProgress : kTaskVersionOfProgress;
}

void put_task_slot(Writer& writer, const TaskSlot& slot) {
  writer.varint(slot.limit);
  writer.bytes(slot.key);
  writer.zigzag(slot.priority);
  writer.varint(slot.number);
}

TaskSlot get_task_slot(Reader& reader) {
  TaskSlot slot{.limit = get_u32(reader)};
  slot.key = get_string(reader);
  slot.priority = get_priority(reader);
  slot.number = get_number(reader);
  if (slot.limit == 0 || slot.key.size() > kMostSlotKeyBytes || slot.number == 0) reader.fail();
  return slot;
}

void put_task_throttle(Writer& writer, const TaskThrottle& throttle) {
  writer.varint(throttle.rate.limit);
  put_span_text(writer, throttle.rate.period);
  put_optional(writer, throttle.timeout, put_span_text);
  writer.bytes(throttle.key);
  writer.zigzag(throttle.priority);
  writer.varint(throttle.number);
}

TaskThrottle get_task_throttle(Reader& reader) {
  TaskThrottle throttle;
  throttle.rate.limit = get_u32(reader);
  throttle.rate.period = get_span_text(reader);
  throttle.timeout = get_optional(reader, get_span_text);
  throttle.key = get_string(reader);
  throttle.priority = get_priority(reader);
  throttle.number = get_number(reader);
  const bool is_wrong = throttle.rate.limit == 0 || throttle.rate.period.is_zero() ||
                        throttle.key.size() > kMostSlotKeyBytes || throttle.number == 0;
  if (is_wrong) reader.fail();
  return throttle;
}

/// Since version 2 an instance message has the event of `listen_from`.
constexpr uint8_t kInboxVersion = 2;

/// The kinds of instance messages in the inbox.
// On disk, and not the index of the variant `InstanceMessage`: never renumber.
enum class InstanceMessageKind : uint8_t {
  kStartChild = 0,
  kCancelChild = 1,
  kReturnResult = 2,
  kCancelLater = 3,  ///< cancels a subflow once its tasks have ended
};

InstanceMessageKind kind_of(const InstanceMessage& message) {
  if (std::holds_alternative<StartChild>(message)) return InstanceMessageKind::kStartChild;
  if (std::holds_alternative<ReturnResult>(message)) return InstanceMessageKind::kReturnResult;
  return std::get<CancelChild>(message).at_once ? InstanceMessageKind::kCancelChild
                                                : InstanceMessageKind::kCancelLater;
}

}  // namespace

// Tasks.

std::string encode(const StartTask& task) {
  Writer writer = begin_record(version_of(task));
  writer.varint(static_cast<uint32_t>(task.ns));
  writer.id(task.task.bytes);
  put_optional(writer, task.caller, put_caller);
  writer.id(task.by.bytes);
  writer.varint(static_cast<uint32_t>(task.workflow));
  writer.bytes(task.state);
  writer.bytes(task.function);
  writer.varint(task.attempt);
  const auto* const container = std::get_if<Container>(&task.runs);
  writer.boolean(container != nullptr);
  if (container != nullptr) {
    writer.boolean(container->isolated);
    writer.bytes(container->image);
    writer.bytes(container->cmd);
    put_enum(writer, container->size);
    writer.varint(container->scale);
  } else {
    const auto& service = std::get<NamedService>(task.runs);
    writer.bytes(service.name);
    writer.boolean(service.global);
  }
  writer.varint(task.files.size());
  for (const FunctionFile& file : task.files) {
    writer.bytes(file.key);
    put_enum(writer, file.scope);
    writer.bytes(file.as);
    put_enum(writer, file.type);
  }
  writer.bytes(task.input.text());
  put_optional(writer, task.deadline, put_time);
  put_optional(writer, task.heartbeat, put_duration);
  put_optional(writer, task.start_to_close, put_duration);
  writer.boolean(task.is_accepted);
  if (task.slot && task.slot->timeout) {
    put_task_slot(writer, *task.slot);
    put_span_text(writer, *task.slot->timeout);
    put_optional(writer, task.throttle, put_task_throttle);
  } else if (task.throttle) {
    put_optional(writer, task.slot, put_task_slot);
    put_task_throttle(writer, *task.throttle);
  } else if (task.slot) {
    put_task_slot(writer, *task.slot);
  }
  if (task.slot || task.throttle) writer.boolean(!task.progress.empty());
  if (!task.progress.empty()) writer.bytes(task.progress);
  return writer.take();
}

Result<StartTask> decode_task(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kTaskVersion);
  StartTask task;
  task.ns = NamespaceNumber(get_u32(reader));
  task.task.bytes = reader.id();
  task.caller = get_optional(reader, get_caller);
  task.by.bytes = reader.id();
  task.workflow = WorkflowNumber(get_u32(reader));
  task.state = get_string(reader);
  task.function = get_string(reader);
  task.attempt = get_u32(reader);
  if (reader.boolean()) {
    Container container;
    container.isolated = reader.boolean();
    container.image = get_string(reader);
    container.cmd = get_string(reader);
    container.size = get_enum(reader, ContainerSize::kLarge);
    container.scale = get_u32(reader);
    task.runs = std::move(container);
  } else {
    NamedService service;
    service.name = get_string(reader);
    service.global = reader.boolean();
    task.runs = std::move(service);
  }
  for (size_t left = reader.count(); left > 0; --left) {
    FunctionFile file;
    file.key = get_string(reader);
    file.scope = get_enum(reader, VariableScope::kNamespace);
    file.as = get_string(reader);
    file.type = get_enum(reader, FileType::kTarGz);
    task.files.push_back(std::move(file));
  }
  task.input = get_json(reader);
  task.deadline = get_optional(reader, get_time);
  task.heartbeat = get_optional(reader, get_duration);
  if (version >= 2) task.start_to_close = get_optional(reader, get_duration);
  if (version >= 3) task.is_accepted = reader.boolean();
  if (version >= kTaskVersion) {
    task.slot = get_task_slot(reader);
    task.slot->timeout = get_span_text(reader);
    task.throttle = get_optional(reader, get_task_throttle);
  } else if (version == kTaskVersionOfThrottle) {
    task.slot = get_optional(reader, get_task_slot);
    task.throttle = get_task_throttle(reader);
  } else if (version == kTaskVersionOfSlot) {
    task.slot = get_task_slot(reader);
  }
  const bool has_progress =
      version >= kTaskVersionOfSlot ? reader.boolean() : version == kTaskVersionOfProgress;
  if (has_progress) task.progress = get_json(reader).text();
  return end_record(reader, std::move(task), "task");
}

std::optional<NamespaceNumber> namespace_of_task(std::string_view bytes) {
  return leading_namespace(bytes, kTaskVersion);
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
  const auto see_all = [&](StartTask task, size_t) {
    see(std::move(task));
    return true;
  };
  return some_tasks(view, see_all, damaged);
}

Status some_tasks(const View& view, const std::function<bool(StartTask task, size_t bytes)>& see,
                  const OnDamage& damaged, const std::optional<InstanceId>& behind) {
  const std::string from = behind ? rows::key_of(*behind) + '\0' : std::string();
  return walk(
      view, Table::kTasks, {}, from,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        StartTask task = TRY(rows::decode(view, Table::kTasks, key, value, decode_task));
        if (rows::key_of(task.task) != key) {
          return tl::unexpected(
              damaged_row(Table::kTasks, key, "it is the record of another task"));
        }
        return see(std::move(task), value.size());
      },
      damaged);
}

Error damaged_task(const InstanceId& task, std::string_view what) {
  return damaged_row(Table::kTasks, rows::key_of(task), what);
}

// Inbox.

std::string encode(const InboxRecord& record) {
  Writer writer = begin_record(kInboxVersion);
  writer.varint(record.listen_from.kept);
  put_position(writer, record.listen_from.event);
  put_enum(writer, kind_of(record.message));
  if (const auto* start = std::get_if<StartChild>(&record.message)) {
    writer.varint(static_cast<uint32_t>(start->ns));
    writer.id(start->child.bytes);
    writer.bytes(start->workflow);
    writer.bytes(start->input.text());
    put_optional(writer, start->caller, put_caller);
    writer.id(start->by.bytes);
    writer.varint(start->depth);
    writer.varint(start->hops);
  } else if (const auto* cancel = std::get_if<CancelChild>(&record.message)) {
    writer.varint(static_cast<uint32_t>(cancel->ns));
    writer.id(cancel->child.bytes);
  } else {
    const auto& result = std::get<ReturnResult>(record.message);
    writer.varint(static_cast<uint32_t>(result.ns));
    put_caller(writer, result.to);
    writer.boolean(result.result.has_value());
    if (result.result) {
      writer.bytes(result.result->text());
    } else {
      put_error(writer, result.result.error());
    }
  }
  return writer.take();
}

Result<InboxRecord> decode_inbox(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kInboxVersion);
  InboxRecord record;
  record.listen_from.kept = get_number(reader);
  if (version >= 2) record.listen_from.event = get_position(reader);
  const auto kind = static_cast<InstanceMessageKind>(reader.u8());
  switch (kind) {
    case InstanceMessageKind::kStartChild: {
      StartChild start;
      start.ns = NamespaceNumber(get_u32(reader));
      start.child.bytes = reader.id();
      start.workflow = get_string(reader);
      start.input = get_json(reader);
      start.caller = get_optional(reader, get_caller);
      start.by.bytes = reader.id();
      start.depth = get_u32(reader);
      start.hops = get_u32(reader);
      record.message = std::move(start);
      break;
    }
    case InstanceMessageKind::kCancelChild:
    case InstanceMessageKind::kCancelLater: {
      CancelChild cancel;
      cancel.at_once = kind != InstanceMessageKind::kCancelLater;
      cancel.ns = NamespaceNumber(get_u32(reader));
      cancel.child.bytes = reader.id();
      record.message = cancel;
      break;
    }
    case InstanceMessageKind::kReturnResult: {
      ReturnResult result;
      result.ns = NamespaceNumber(get_u32(reader));
      result.to = get_caller(reader);
      if (reader.boolean()) {
        result.result = get_json(reader);
      } else {
        result.result = tl::unexpected(get_error(reader));
      }
      record.message = std::move(result);
      break;
    }
    default:
      reader.fail();
  }
  return end_record(reader, std::move(record), "inbox");
}

/// Each kind of instance message begins with its namespace.
std::optional<NamespaceNumber> namespace_of_inbox(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kInboxVersion);
  get_number(reader);
  if (version >= 2) get_position(reader);
  get_enum(reader, InstanceMessageKind::kCancelLater);
  const auto ns = NamespaceNumber(get_u32(reader));
  return reader.ok() ? std::optional(ns) : std::nullopt;
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

Error damaged_instance_message(uint64_t number, std::string_view what) {
  return damaged_row(Table::kInbox, key_of(number), what);
}

// Webhooks.

std::string encode(const WebhookRecord& record) {
  Writer writer = begin_record();
  writer.varint(static_cast<uint32_t>(record.ns));
  writer.bytes(record.url);
  put_time(writer, record.at);
  writer.varint(record.attempt);
  writer.bytes(record.event);
  return writer.take();
}

Result<WebhookRecord> decode_webhook(std::string_view bytes) {
  Reader reader = open_record(bytes);
  WebhookRecord record;
  record.ns = NamespaceNumber(get_u32(reader));
  record.url = get_string(reader);
  record.at = get_time(reader);
  record.attempt = get_u32(reader);
  record.event = get_string(reader);
  return end_record(reader, std::move(record), "webhook");
}

std::optional<NamespaceNumber> namespace_of_webhook(std::string_view bytes) {
  return leading_namespace(bytes, kFirstVersion);
}

Result<Event> event_of(uint64_t number, const WebhookRecord& record) {
  return decode_event(Table::kWebhooks, key_of(number), record.event);
}

void write_webhook(Transaction& tx, uint64_t number, const WebhookRecord& record) {
  rows::put(tx, Table::kWebhooks, key_of(number), encode(record), record.sealed);
}

void erase_webhook(Transaction& tx, uint64_t number) { tx.erase(Table::kWebhooks, key_of(number)); }

Result<std::optional<WebhookRecord>> read_webhook(const View& view, uint64_t number) {
  return read(view, Table::kWebhooks, key_of(number), decode_webhook);
}

Status each_webhook(const View& view,
                    const std::function<void(uint64_t number, const WebhookRecord& record)>& see,
                    const OnDamage& damaged) {
  return walk(
      view, Table::kWebhooks, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        see(TRY(numbered(Table::kWebhooks, key)),
            TRY(rows::decode(view, Table::kWebhooks, key, value, decode_webhook)));
        return true;
      },
      damaged);
}

}  // namespace millrace
