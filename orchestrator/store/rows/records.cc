#include "orchestrator/store/rows/records.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/codec.h"
#include "cloudevents/subject.h"
#include "language/own_policy.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

constexpr uint8_t kVersion = 1;

Writer begin() {
  Writer writer;
  writer.u8(kVersion);
  return writer;
}

/// Reads the version; any but the one that is written is a failure.
Reader open(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.u8() != kVersion) reader.fail();
  return reader;
}

/// Heads have `hops` since version 2, what belongs to calls and retries since version 3, runs since
/// version 4, since version 5 whence policies count and whether the failed state's data is kept,
/// and the attempts of the failed state since version 6.
constexpr uint8_t kHeadVersion = 6;

/// Schedules know their first tick since version 2.
constexpr uint8_t kScheduleVersion = 2;

/// Workflows may be paused since version 2, and tell their groups from older ones since version 3.
constexpr uint8_t kWorkflowVersion = 3;

/// Namespaces have settings since version 2.
constexpr uint8_t kNamespaceVersion = 2;

/// Calls have tasks and timeouts since version 2, and their last error since version 3.
constexpr uint8_t kCallVersion = 3;

/// Tasks know how long an attempt may run since version 2.
constexpr uint8_t kTaskVersion = 2;

// The kinds of errands in the inbox. On disk: never renumber.
constexpr uint8_t kStartChild = 0;
constexpr uint8_t kCancelChild = 1;
constexpr uint8_t kReturnResult = 2;
constexpr uint8_t kCancelLater = 3;  ///< a child, once its tasks have ended

uint8_t kind_of(const Errand& errand) {
  if (std::holds_alternative<StartChild>(errand)) return kStartChild;
  if (std::holds_alternative<ReturnResult>(errand)) return kReturnResult;
  return std::get<CancelChild>(errand).at_once ? kCancelChild : kCancelLater;
}

// The flags of a head.
constexpr uint8_t kAwaitsRun = 1;
constexpr uint8_t kFailing = 2;
constexpr uint8_t kPausedNow = 4;
constexpr uint8_t kCancelling = 8;
constexpr uint8_t kRetried = 16;
constexpr uint8_t kHasFailedData = 32;

/// The record, if all of it was read.
template <class T>
Result<T> close(const Reader& reader, T record, std::string_view kind) {
  if (reader.done()) return record;
  return fail(
      "store.corrupt",
      fmt::format("the record ({}) is damaged, or of a version that this release does not know: {}",
                  kind, reader.failure()));
}

void put_time(Writer& writer, TimePoint time) { writer.zigzag(to_millis(time)); }
TimePoint get_time(Reader& reader) {
  const TimePoint time = from_millis(reader.zigzag());
  if (time >= kFirstTime && time <= kLastTime) return time;
  reader.fail();
  return {};
}

void put_duration(Writer& writer, Duration duration) { writer.zigzag(duration.count()); }
Duration get_duration(Reader& reader) {
  const Duration duration(reader.zigzag());
  if (duration >= kFirstTime - kLastTime && duration <= kLastTime - kFirstTime) return duration;
  reader.fail();
  return {};
}

/// A time that is told by how far it is from another one.
TimePoint get_time_from(Reader& reader, TimePoint from) {
  const TimePoint time = from + get_duration(reader);
  if (time >= kFirstTime && time <= kLastTime) return time;
  reader.fail();
  return {};
}

template <class T, class F>
void put_optional(Writer& writer, const std::optional<T>& value, F put) {
  writer.boolean(value.has_value());
  if (value) put(writer, *value);
}

template <class F>
auto get_optional(Reader& reader, F get) -> std::optional<decltype(get(reader))> {
  if (!reader.boolean()) return std::nullopt;
  return get(reader);
}

std::string get_string(Reader& reader) { return std::string(reader.bytes()); }

LazyJson get_json(Reader& reader) {
  std::optional<LazyJson> json = LazyJson::of_stored(get_string(reader));
  if (!json) reader.fail();
  return std::move(json).value_or(LazyJson());
}

/// An enumeration's value, not above its last one.
template <class E>
E get_enum(Reader& reader, E last) {
  const uint8_t value = reader.u8();
  if (value > static_cast<uint8_t>(last)) reader.fail();
  return static_cast<E>(value);
}

template <class E>
void put_enum(Writer& writer, E value) {
  writer.u8(static_cast<uint8_t>(value));
}

/// A number of a row, or how many there are of something; 0 where there is none.
uint64_t get_number(Reader& reader) {
  const uint64_t value = reader.varint();
  if (value > kMostNumber) reader.fail();
  return value;
}

uint32_t get_u32(Reader& reader) {
  const uint64_t value = reader.varint();
  if (value > std::numeric_limits<uint32_t>::max()) reader.fail();
  return static_cast<uint32_t>(value);
}

void put_error(Writer& writer, const Error& error) {
  writer.bytes(error.code);
  writer.bytes(error.message);
}
/// A text that is shown as JSON, which is UTF-8: one of an error must not stop what has the error.
std::string get_text(Reader& reader) {
  std::string text = get_string(reader);
  if (!is_utf8(text)) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c >= 0x80; }, '?');
  }
  return text;
}
Error get_error(Reader& reader) {
  std::string code = get_text(reader);
  return {std::move(code), get_text(reader)};
}

void put_caller(Writer& writer, const Caller& caller) {
  writer.id(caller.instance.bytes);
  writer.varint(caller.entered);
  writer.varint(caller.index);
  writer.varint(caller.attempt);
}
Caller get_caller(Reader& reader) {
  Caller caller;
  caller.instance.bytes = reader.id();
  caller.entered = get_number(reader);
  caller.index = get_u32(reader);
  caller.attempt = get_u32(reader);
  return caller;
}

void put_listener(Writer& writer, const Listener& listener) {
  writer.varint(listener.entry);
  writer.bytes(listener.filter.type);
  writer.varint(listener.filter.predicates.size());
  for (const Predicate& predicate : listener.filter.predicates) {
    put_enum(writer, predicate.kind);
    writer.bytes(predicate.attribute);
    writer.bytes(predicate.text);
  }
}
Listener get_listener(Reader& reader) {
  Listener listener{.entry = get_u32(reader), .filter = {.type = get_string(reader)}};
  const size_t count = reader.count();
  for (size_t i = 0; i < count; ++i) {
    Predicate predicate;
    predicate.kind = get_enum(reader, Predicate::Kind::kPattern);
    predicate.attribute = get_string(reader);
    predicate.text = get_string(reader);
    listener.filter.predicates.push_back(std::move(predicate));
  }
  return listener;
}

void put_timers(Writer& writer, const std::vector<Timer>& timers) {
  writer.varint(timers.size());
  for (const Timer& timer : timers) {
    put_enum(writer, timer.kind);
    put_time(writer, timer.deadline);
  }
}
std::vector<Timer> get_timers(Reader& reader) {
  std::vector<Timer> timers;
  for (size_t left = reader.count(); left > 0; --left) {
    const auto kind = get_enum(reader, TimerKind::kCalls);
    timers.push_back({.kind = kind, .deadline = get_time(reader)});
  }
  return timers;
}

}  // namespace

std::string encode(const NamespaceRecord& record) {
  Writer writer;
  writer.u8(kNamespaceVersion);
  writer.varint(static_cast<uint32_t>(record.number));
  put_time(writer, record.created_at);
  writer.bytes(record.settings);
  return writer.take();
}

Result<NamespaceRecord> decode_namespace(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = reader.u8();
  if (version < 1 || version > kNamespaceVersion) reader.fail();
  NamespaceRecord record;
  record.number = NamespaceNumber(get_u32(reader));
  record.created_at = get_time(reader);
  if (version >= 2) record.settings = get_string(reader);
  return close(reader, record, "namespace");
}

std::string encode(const WorkflowRecord& record) {
  Writer writer;
  writer.u8(kWorkflowVersion);
  writer.varint(static_cast<uint32_t>(record.number));
  writer.varint(record.latest);
  writer.boolean(record.paused);
  writer.varint(record.groups_from);
  return writer.take();
}

Result<WorkflowRecord> decode_workflow(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = reader.u8();
  if (version < 1 || version > kWorkflowVersion) reader.fail();
  WorkflowRecord record;
  record.number = WorkflowNumber(get_u32(reader));
  record.latest = get_u32(reader);
  if (version >= 2) record.paused = reader.boolean();
  if (version >= 3) record.groups_from = get_u32(reader);
  return close(reader, record, "workflow");
}

std::string encode(const DefinitionRecord& record) {
  Writer writer = begin();
  put_time(writer, record.created_at);
  writer.bytes(record.text);
  return writer.take();
}

Result<DefinitionRecord> decode_definition(std::string_view bytes) {
  Reader reader = open(bytes);
  DefinitionRecord record;
  record.created_at = get_time(reader);
  record.text = get_string(reader);
  return close(reader, std::move(record), "definition");
}

std::string encode_head(const Instance& instance) {
  Writer writer;
  writer.u8(kHeadVersion);
  writer.id(instance.id.bytes);
  writer.varint(static_cast<uint32_t>(instance.space));
  writer.varint(static_cast<uint32_t>(instance.revision.workflow));
  writer.varint(instance.revision.number);
  put_enum(writer, instance.status);
  put_enum(writer, instance.phase);
  writer.varint(instance.state);
  writer.varint(instance.exit);
  writer.varint(instance.step);
  writer.varint(instance.transitions);
  writer.boolean(instance.parked);
  put_time(writer, instance.started_at);
  put_optional(writer, instance.ended_at, put_time);
  writer.varint(instance.listen_from);
  writer.varint(instance.history_count);
  writer.varint(instance.last_history);
  writer.varint(instance.listeners.size());
  for (const Listener& listener : instance.listeners) put_listener(writer, listener);
  put_timers(writer, instance.timers);
  put_optional(writer, instance.error, put_error);
  writer.bytes(instance.failed_state);
  writer.bytes(instance.idempotency_key);
  writer.varint(instance.hops);
  writer.varint(instance.entered);
  writer.varint(instance.attempt);
  put_optional(writer, instance.caller, put_caller);
  writer.varint(instance.depth);
  writer.varint(instance.calls.size());
  writer.varint(instance.run);
  writer.u8(static_cast<uint8_t>(
      (instance.awaits_run ? kAwaitsRun : 0) | (instance.failing ? kFailing : 0) |
      (instance.paused ? kPausedNow : 0) | (instance.cancelling ? kCancelling : 0) |
      (instance.retried ? kRetried : 0) | (instance.failed_data ? kHasFailedData : 0)));
  writer.zigzag(to_millis(instance.execution_from) - to_millis(instance.started_at));
  put_timers(writer, instance.held_timers);
  writer.bytes(instance.traceparent);
  writer.bytes(instance.correlation);
  writer.bytes(instance.own_policy);
  writer.varint(instance.first_run);
  writer.zigzag(to_millis(instance.runs_from) - to_millis(instance.started_at));
  writer.zigzag(to_millis(instance.state_from) - to_millis(instance.started_at));
  writer.varint(instance.failed_attempt);
  return writer.take();
}

Result<Instance> decode_head(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = reader.u8();
  if (version < 1 || version > kHeadVersion) reader.fail();
  Instance instance;
  instance.id.bytes = reader.id();
  instance.space = NamespaceNumber(get_u32(reader));
  instance.revision.workflow = WorkflowNumber(get_u32(reader));
  instance.revision.number = get_u32(reader);
  instance.status = get_enum(reader, InstanceStatus::kTimedOut);
  instance.phase = get_enum(reader, Phase::kEnded);
  instance.state = get_number(reader);
  instance.exit = get_number(reader);
  instance.step = get_number(reader);
  instance.transitions = get_u32(reader);
  instance.parked = reader.boolean();
  instance.started_at = get_time(reader);
  instance.ended_at = get_optional(reader, get_time);
  instance.listen_from = get_number(reader);
  instance.history_count = get_number(reader);
  instance.last_history = get_number(reader);
  for (size_t left = reader.count(); left > 0; --left) {
    instance.listeners.push_back(get_listener(reader));
  }
  instance.timers = get_timers(reader);
  instance.error = get_optional(reader, get_error);
  instance.failed_state = get_string(reader);
  instance.idempotency_key = get_string(reader);
  if (version >= 2) instance.hops = get_u32(reader);
  if (version >= 3) {
    instance.entered = get_number(reader);
    instance.attempt = get_u32(reader);
    instance.caller = get_optional(reader, get_caller);
    instance.depth = get_u32(reader);
    const uint32_t calls = get_u32(reader);
    if (calls > kMostCalls) reader.fail();
    instance.calls.resize(reader.ok() ? calls : 0);
  }
  if (version >= 4) {
    instance.run = get_u32(reader);
    const uint8_t flags = reader.u8();
    if (flags >= (version >= 5 ? kHasFailedData : kRetried) << 1) reader.fail();
    instance.awaits_run = (flags & kAwaitsRun) != 0;
    instance.failing = (flags & kFailing) != 0;
    instance.paused = (flags & kPausedNow) != 0;
    instance.cancelling = (flags & kCancelling) != 0;
    instance.retried = (flags & kRetried) != 0;
    if ((flags & kHasFailedData) != 0) instance.failed_data.emplace();  // it has a row of its own
    instance.execution_from = get_time_from(reader, instance.started_at);
    instance.held_timers = get_timers(reader);
    instance.traceparent = get_string(reader);
    instance.correlation = get_string(reader);
    instance.own_policy = get_string(reader);
    if (!parse_own_policy(instance.own_policy)) reader.fail();
  } else {
    instance.execution_from = instance.started_at;
  }
  instance.runs_from = instance.state_from = instance.started_at;
  if (version >= 5) {
    instance.first_run = get_u32(reader);
    instance.runs_from = get_time_from(reader, instance.started_at);
    instance.state_from = get_time_from(reader, instance.started_at);
  }
  if (version >= 6) instance.failed_attempt = get_u32(reader);
  return close(reader, std::move(instance), "instance");
}

std::string encode_call(const Call& call) {
  Writer writer;
  writer.u8(kCallVersion);
  put_enum(writer, call.status);
  writer.varint(call.attempt);
  writer.id(call.id.bytes);
  put_optional(writer, call.retry_at, put_time);
  writer.bytes(call.input.text());
  writer.bytes(call.result.text());
  writer.boolean(call.outside);
  writer.boolean(call.begun);
  put_optional(writer, call.first_at, put_time);
  for (const auto& deadline : call.deadlines) put_optional(writer, deadline, put_time);
  put_optional(writer, call.last_error, [](Writer& to, const CallFailure& failure) {
    put_error(to, failure.error);
    put_time(to, failure.at);
  });
  return writer.take();
}

Result<Call> decode_call(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = reader.u8();
  if (version < 1 || version > kCallVersion) reader.fail();
  Call call;
  call.status = get_enum(reader, Call::Status::kFailed);
  call.attempt = get_u32(reader);
  call.id.bytes = reader.id();
  call.retry_at = get_optional(reader, get_time);
  call.input = get_json(reader);
  call.result = get_json(reader);
  if (version >= 2) {
    call.outside = reader.boolean();
    call.begun = reader.boolean();
    call.first_at = get_optional(reader, get_time);
    for (auto& deadline : call.deadlines) deadline = get_optional(reader, get_time);
  }
  if (version >= 3) {
    call.last_error = get_optional(reader, [](Reader& from) {
      Error error = get_error(from);
      return CallFailure{.error = std::move(error), .at = get_time(from)};
    });
  }
  return close(reader, std::move(call), "call");
}

std::string encode(const HookRecord& record) {
  Writer writer = begin();
  writer.varint(static_cast<uint32_t>(record.space));
  writer.bytes(record.url);
  put_time(writer, record.at);
  writer.varint(record.attempt);
  writer.bytes(record.event);
  return writer.take();
}

Result<HookRecord> decode_hook(std::string_view bytes) {
  Reader reader = open(bytes);
  HookRecord record;
  record.space = NamespaceNumber(get_u32(reader));
  record.url = get_string(reader);
  record.at = get_time(reader);
  record.attempt = get_u32(reader);
  record.event = get_string(reader);
  return close(reader, std::move(record), "hook");
}

std::string encode(const StartTask& task) {
  Writer writer;
  writer.u8(kTaskVersion);
  writer.varint(static_cast<uint32_t>(task.space));
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
  return writer.take();
}

Result<StartTask> decode_task(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = reader.u8();
  if (version < 1 || version > kTaskVersion) reader.fail();
  StartTask task;
  task.space = NamespaceNumber(get_u32(reader));
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
  return close(reader, std::move(task), "task");
}

std::string encode(const InboxRecord& record) {
  Writer writer = begin();
  writer.varint(record.listen_from);
  writer.u8(kind_of(record.errand));
  if (const auto* start = std::get_if<StartChild>(&record.errand)) {
    writer.varint(static_cast<uint32_t>(start->space));
    writer.id(start->child.bytes);
    writer.bytes(start->workflow);
    writer.bytes(start->input.text());
    put_optional(writer, start->caller, put_caller);
    writer.id(start->by.bytes);
    writer.varint(start->depth);
    writer.varint(start->hops);
  } else if (const auto* cancel = std::get_if<CancelChild>(&record.errand)) {
    writer.varint(static_cast<uint32_t>(cancel->space));
    writer.id(cancel->child.bytes);
  } else {
    const auto& result = std::get<ReturnResult>(record.errand);
    writer.varint(static_cast<uint32_t>(result.space));
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
  Reader reader = open(bytes);
  InboxRecord record;
  record.listen_from = get_number(reader);
  const uint8_t kind = reader.u8();
  switch (kind) {
    case kStartChild: {
      StartChild start;
      start.space = NamespaceNumber(get_u32(reader));
      start.child.bytes = reader.id();
      start.workflow = get_string(reader);
      start.input = get_json(reader);
      start.caller = get_optional(reader, get_caller);
      start.by.bytes = reader.id();
      start.depth = get_u32(reader);
      start.hops = get_u32(reader);
      record.errand = std::move(start);
      break;
    }
    case kCancelChild:
    case kCancelLater: {
      CancelChild cancel;
      cancel.at_once = kind != kCancelLater;
      cancel.space = NamespaceNumber(get_u32(reader));
      cancel.child.bytes = reader.id();
      record.errand = cancel;
      break;
    }
    case kReturnResult: {
      ReturnResult result;
      result.space = NamespaceNumber(get_u32(reader));
      result.to = get_caller(reader);
      if (reader.boolean()) {
        result.result = get_json(reader);
      } else {
        result.result = tl::unexpected(get_error(reader));
      }
      record.errand = std::move(result);
      break;
    }
    default:
      reader.fail();
  }
  return close(reader, std::move(record), "inbox");
}

std::string encode_slots(const std::vector<std::optional<LazyJson>>& slots) {
  Writer writer = begin();
  writer.varint(slots.size());
  for (const auto& slot : slots) {
    put_optional(writer, slot, [](Writer& to, const LazyJson& json) { to.bytes(json.text()); });
  }
  return writer.take();
}

Result<std::vector<std::optional<LazyJson>>> decode_slots(std::string_view bytes) {
  Reader reader = open(bytes);
  std::vector<std::optional<LazyJson>> slots;
  for (size_t left = reader.count(); left > 0; --left) {
    slots.push_back(get_optional(reader, get_json));
  }
  return close(reader, std::move(slots), "slots");
}

namespace {

/// What of a record's data stands in its row.
// On disk: never renumber.
enum class Recorded : uint8_t {
  kNone = 0,
  kText = 1,
  kInput = 2,
};

}  // namespace

std::string encode(const HistoryRow& row) {
  Writer writer = begin();
  writer.varint(static_cast<uint32_t>(row.space));
  writer.id(row.instance.bytes);
  writer.varint(row.previous);
  writer.varint(row.records.size());
  auto with_input = row.with_input.begin();
  for (size_t i = 0; i < row.records.size(); ++i) {
    const HistoryRecord& record = row.records[i];
    put_time(writer, record.time);
    put_enum(writer, record.kind);
    writer.bytes(record.state);
    writer.bytes(record.detail.is_null() ? std::string_view() : record.detail.text());
    if (with_input != row.with_input.end() && *with_input == i) {
      put_enum(writer, Recorded::kInput);
      ++with_input;
    } else if (record.data) {
      put_enum(writer, Recorded::kText);
      writer.bytes(record.data->text());
    } else {
      put_enum(writer, Recorded::kNone);
    }
  }
  return writer.take();
}

Result<HistoryRow> decode_history(std::string_view bytes) {
  Reader reader = open(bytes);
  HistoryRow row;
  row.space = NamespaceNumber(get_u32(reader));
  row.instance.bytes = reader.id();
  row.previous = get_number(reader);
  for (size_t left = reader.count(); left > 0; --left) {
    HistoryRecord record;
    record.time = get_time(reader);
    record.kind = get_enum(reader, HistoryKind::kRevived);
    record.state = get_string(reader);
    if (const std::string_view detail = reader.bytes(); !detail.empty()) {
      if (!is_own_json(detail)) reader.fail();
      record.detail = LazyJson::of_text(std::string(detail));
    }
    const auto data = get_enum(reader, Recorded::kInput);
    if (data == Recorded::kText) record.data = get_json(reader);
    if (data == Recorded::kInput) row.with_input.push_back(row.records.size());
    row.records.push_back(std::move(record));
  }
  return close(reader, std::move(row), "history");
}

std::string encode(const OutboxRecord& record) {
  Writer writer = begin();
  put_optional(writer, record.instance, [](Writer& to, const InstanceId& id) { to.id(id.bytes); });
  writer.bytes(record.message.subject);
  writer.varint(record.message.headers.size());
  for (const auto& [name, value] : record.message.headers) {
    writer.bytes(name);
    writer.bytes(value);
  }
  writer.bytes(record.message.data);
  return writer.take();
}

namespace {

/// Whether a broker can be sent that header, as broker/wire.h has it: one that cannot be would
/// keep the messages behind it.
bool is_header(std::string_view name, std::string_view value) {
  const auto is_name_char = [](char c) { return c > ' ' && c <= '~' && c != ':'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_char) &&
         value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

Result<OutboxRecord> decode_outbox(std::string_view bytes) {
  Reader reader = open(bytes);
  OutboxRecord record;
  record.instance = get_optional(reader, [](Reader& from) { return InstanceId{from.id()}; });
  record.message.subject = get_string(reader);
  if (!is_publish_subject(record.message.subject)) reader.fail();
  for (size_t left = reader.count(); left > 0; --left) {
    std::string name = get_string(reader);
    std::string value = get_string(reader);
    if (!is_header(name, value)) reader.fail();
    record.message.headers.emplace_back(std::move(name), std::move(value));
  }
  record.message.data = get_string(reader);
  return close(reader, std::move(record), "outbox");
}

std::string encode(const SentRecord& record) {
  Writer writer = begin();
  writer.zigzag(record.stream_created);
  put_time(writer, record.at);
  writer.varint(record.messages.size());
  SentRecord::Message before;
  for (const SentRecord::Message& message : record.messages) {
    writer.zigzag(static_cast<int64_t>(message.number - before.number));
    writer.zigzag(static_cast<int64_t>(message.sequence - before.sequence));
    writer.varint(message.bytes);
    before = message;
  }
  return writer.take();
}

Result<SentRecord> decode_sent(std::string_view bytes) {
  Reader reader = open(bytes);
  SentRecord record;
  record.stream_created = reader.zigzag();
  record.at = get_time(reader);
  const size_t count = reader.count();
  record.messages.reserve(count);
  SentRecord::Message message;
  for (size_t i = 0; i < count; ++i) {
    message.number += static_cast<uint64_t>(reader.zigzag());
    message.sequence += static_cast<uint64_t>(reader.zigzag());
    message.bytes = reader.varint();
    record.messages.push_back(message);
  }
  return close(reader, std::move(record), "sent");
}

std::string encode(const DelayedRecord& record) {
  Writer writer = begin();
  writer.varint(static_cast<uint32_t>(record.space));
  writer.id(record.instance.bytes);
  put_time(writer, record.at);
  writer.bytes(record.event);
  return writer.take();
}

Result<DelayedRecord> decode_delayed(std::string_view bytes) {
  Reader reader = open(bytes);
  DelayedRecord record;
  record.space = NamespaceNumber(get_u32(reader));
  record.instance.bytes = reader.id();
  record.at = get_time(reader);
  record.event = get_string(reader);
  return close(reader, std::move(record), "delayed event");
}

std::string encode(const ScheduleRecord& record) {
  Writer writer;
  writer.u8(kScheduleVersion);
  put_time(writer, record.from);
  put_optional(writer, record.last, put_time);
  put_optional(writer, record.first, put_time);
  return writer.take();
}

Result<ScheduleRecord> decode_schedule(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = reader.u8();
  if (version < 1 || version > kScheduleVersion) reader.fail();
  ScheduleRecord record;
  record.from = get_time(reader);
  record.last = get_optional(reader, get_time);
  if (version >= 2) record.first = get_optional(reader, get_time);
  return close(reader, record, "schedule");
}

std::string encode_counts(const std::vector<uint32_t>& waiting) {
  Writer writer = begin();
  writer.varint(waiting.size());
  for (const uint32_t count : waiting) writer.varint(count);
  return writer.take();
}

Result<std::vector<uint32_t>> decode_counts(std::string_view bytes) {
  Reader reader = open(bytes);
  std::vector<uint32_t> waiting;
  for (size_t left = reader.count(); left > 0; --left) waiting.push_back(get_u32(reader));
  return close(reader, std::move(waiting), "group");
}

std::string encode(const GroupedRecord& record) {
  Writer writer = begin();
  writer.varint(record.position);
  put_optional(writer, record.expires, put_time);
  writer.bytes(record.event);
  return writer.take();
}

Result<GroupedRecord> decode_grouped(std::string_view bytes) {
  Reader reader = open(bytes);
  GroupedRecord record;
  record.position = reader.varint();
  record.expires = get_optional(reader, get_time);
  record.event = get_string(reader);
  return close(reader, std::move(record), "grouped event");
}

std::string encode(const RecentRecord& record) {
  Writer writer = begin();
  writer.id(record.known_as);
  writer.bytes(record.event);
  return writer.take();
}

Result<RecentRecord> decode_recent(std::string_view bytes) {
  Reader reader = open(bytes);
  RecentRecord record;
  record.known_as = reader.id();
  record.event = get_string(reader);
  return close(reader, std::move(record), "kept event");
}

std::string encode(const Variable& variable) {
  Writer writer = begin();
  writer.bytes(variable.content_type);
  writer.raw(variable.bytes);
  return writer.take();
}

Result<Variable> decode_variable(std::string_view bytes) {
  Reader reader = open(bytes);
  Variable variable;
  variable.content_type = get_string(reader);
  variable.bytes = std::string(reader.rest());
  return close(reader, std::move(variable), "variable");
}

std::string encode(const PurgeRecord& record) {
  Writer writer = begin();
  writer.bytes(record.space);
  writer.bytes(record.workflow);
  writer.varint(record.up_to);
  return writer.take();
}

Result<PurgeRecord> decode_purge(std::string_view bytes) {
  Reader reader = open(bytes);
  PurgeRecord record;
  record.space = get_string(reader);
  record.workflow = get_string(reader);
  record.up_to = reader.varint();
  return close(reader, std::move(record), "purge");
}

std::string encode(const Cursor& cursor) {
  Writer writer = begin();
  writer.zigzag(cursor.stream_created);
  writer.varint(cursor.sequence);
  put_time(writer, cursor.stamped);
  return writer.take();
}

Result<Cursor> decode_cursor(std::string_view bytes) {
  Reader reader = open(bytes);
  Cursor cursor;
  cursor.stream_created = reader.zigzag();
  cursor.sequence = reader.varint();
  cursor.stamped = get_time(reader);
  return close(reader, cursor, "cursor");
}

std::string encode(const IdempotencyRecord& record) {
  Writer writer = begin();
  writer.id(record.instance.bytes);
  writer.id(record.input);
  return writer.take();
}

Result<IdempotencyRecord> decode_idempotency(std::string_view bytes) {
  Reader reader = open(bytes);
  IdempotencyRecord record;
  record.instance.bytes = reader.id();
  record.input = reader.id();
  return close(reader, record, "idempotency");
}

}  // namespace millrace
