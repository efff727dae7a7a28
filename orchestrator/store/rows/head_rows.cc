#include "orchestrator/store/rows/head_rows.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "language/own_policy.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/head_fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Since version 2 heads have `hops`; since 3 the fields of calls and retries; since 4 runs; since
/// 5 the times from which retry policies count, and whether the failed state's data is stored;
/// since 6 the attempts of the failed state; since 7 the sizes of rows and history, the event of
/// `listen_from`, and the flag kOverBytes; since 8 the events that the instance has taken; since 9
/// the size of the row of the starting event, and the timeout of the state that its data has
/// decided; either may be missing, as such events may. A head without both has version 8, or 7 if
/// there are no such events either. Since 10 the compensations, which may be missing, too. Since 11
/// the slot of the instance; since 12 it may be missing, and what its throttle has to decide
/// follows. Exactly the heads of instances that are throttled have version 12, and exactly the
/// others with a slot version 11.
constexpr uint8_t kHeadVersion = 12;
constexpr uint8_t kVersionWithoutThrottle = 11;
constexpr uint8_t kVersionWithoutSlot = 10;
constexpr uint8_t kVersionWithoutCompensations = 9;
constexpr uint8_t kVersionWithConsumed = 8;
constexpr uint8_t kVersionWithoutConsumed = 7;

/// The head does not have its own size: it is the size of the row.
constexpr size_t kFirstCounted = static_cast<size_t>(Part::kInput);
/// Since version 7 the head has the sizes of the parts before this one.
constexpr size_t kStartEvent = static_cast<size_t>(Part::kStartEvent);

/// Whether the head has fields that versions since 10 have.
bool has_compensations(const Instance& instance) {
  return instance.compensations > 0 || instance.compensates || instance.compensating ||
         instance.compensation_error;
}

/// Whether the head has the fields that versions since 9 have.
bool has_newest_fields(const Instance& instance) {
  return instance.part_bytes[kStartEvent] > 0 || instance.state_timeout ||
         has_compensations(instance) || instance.slot || instance.throttled;
}

uint8_t version_of(const Instance& instance) {
  if (instance.throttled) return kHeadVersion;
  if (instance.slot) return kVersionWithoutThrottle;
  if (has_compensations(instance)) return kVersionWithoutSlot;
  if (has_newest_fields(instance)) return kVersionWithoutCompensations;
  return instance.consumed.empty() ? kVersionWithoutConsumed : kVersionWithConsumed;
}

// The flags of a head. On disk: never renumber.
constexpr uint8_t kAwaitsRun = 1;
constexpr uint8_t kFailing = 2;
constexpr uint8_t kPausedNow = 4;
constexpr uint8_t kCancelling = 8;
constexpr uint8_t kRetried = 16;
constexpr uint8_t kHasFailedData = 32;
constexpr uint8_t kOverBytes = 64;

/// The highest kind of a timer in a head of that version.
TimerKind last_timer_of(uint8_t version) {
  if (version >= kHeadVersion) return TimerKind::kThrottle;
  return version > kVersionWithoutSlot ? TimerKind::kQueue : TimerKind::kCalls;
}

/// The highest flag of a head of that version.
uint8_t last_flag(uint8_t version) {
  if (version >= 7) return kOverBytes;
  return version >= 5 ? kHasFailedData : kRetried;
}

}  // namespace

// Keys and bytes.

std::string part_key(std::string prefix, Part part) {
  prefix.push_back(static_cast<char>(part));
  return prefix;
}

std::string encode_head(const Instance& instance) {
  Writer writer = begin_record(version_of(instance));
  writer.id(instance.id.bytes);
  writer.varint(static_cast<uint32_t>(instance.ns));
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
  writer.varint(instance.listen_from.kept);
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
      (instance.retried ? kRetried : 0) | (instance.failed_data ? kHasFailedData : 0) |
      (instance.over_bytes ? kOverBytes : 0)));
  writer.zigzag(to_millis(instance.execution_from) - to_millis(instance.started_at));
  put_timers(writer, instance.held_timers);
  writer.bytes(instance.traceparent);
  writer.bytes(instance.correlation);
  writer.bytes(instance.own_policy);
  writer.varint(instance.first_run);
  writer.zigzag(to_millis(instance.runs_from) - to_millis(instance.started_at));
  writer.zigzag(to_millis(instance.state_from) - to_millis(instance.started_at));
  writer.varint(instance.failed_attempt);
  for (size_t i = kFirstCounted; i < kStartEvent; ++i) writer.varint(instance.part_bytes[i]);
  writer.varint(instance.history_bytes);
  writer.varint(instance.history_trimmed);
  put_position(writer, instance.listen_from.event);
  const bool has_consumed = !instance.consumed.empty();
  const bool is_whole = has_newest_fields(instance);
  if (is_whole) {
    writer.varint(instance.part_bytes[kStartEvent]);
    writer.boolean(has_consumed);
  }
  if (has_consumed) put_taken(writer, instance.consumed);
  if (is_whole) {
    writer.boolean(instance.state_timeout.has_value());
    if (instance.state_timeout) put_span(writer, *instance.state_timeout);
  }
  if (version_of(instance) >= 10) put_compensations(writer, instance);
  if (instance.throttled) writer.boolean(instance.slot.has_value());
  if (instance.slot) put_slot(writer, *instance.slot);
  if (instance.throttled) put_throttled(writer, *instance.throttled);
  return writer.take();
}

Result<Instance> decode_head(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kHeadVersion);
  // A start decodes each live instance, so the value is made where it is returned.
  Result<Instance> decoded = Instance();
  Instance& instance = *decoded;
  instance.id.bytes = reader.id();
  instance.ns = NamespaceNumber(get_u32(reader));
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
  instance.listen_from.kept = get_number(reader);
  instance.history_count = get_number(reader);
  instance.last_history = get_number(reader);
  for (size_t left = reader.count(); left > 0; --left) {
    instance.listeners.push_back(get_listener(reader));
  }
  const TimerKind last_timer = last_timer_of(version);
  instance.timers = get_timers(reader, last_timer);
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
    if (flags >= last_flag(version) << 1) reader.fail();
    instance.awaits_run = (flags & kAwaitsRun) != 0;
    instance.failing = (flags & kFailing) != 0;
    instance.paused = (flags & kPausedNow) != 0;
    instance.cancelling = (flags & kCancelling) != 0;
    instance.retried = (flags & kRetried) != 0;
    instance.over_bytes = (flags & kOverBytes) != 0;
    if ((flags & kHasFailedData) != 0)
      instance.failed_data.emplace();  // the row Part::kFailedData has the data
    instance.execution_from = get_time_from(reader, instance.started_at);
    instance.held_timers = get_timers(reader, last_timer);
    instance.traceparent = get_string(reader);
    instance.correlation = get_string(reader);
    instance.own_policy = get_string(reader);
    if (!instance.own_policy.empty() && !parse_own_policy(instance.own_policy)) reader.fail();
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
  instance.part_bytes[static_cast<size_t>(Part::kHead)] = bytes.size();
  if (version >= 7) {
    for (size_t i = kFirstCounted; i < kStartEvent; ++i) {
      instance.part_bytes[i] = get_number(reader);
    }
    instance.history_bytes = get_number(reader);
    instance.history_trimmed = get_number(reader);
    if (instance.history_trimmed > instance.history_count) reader.fail();
    instance.listen_from.event = get_position(reader);
  }
  bool has_consumed = version >= 8;
  if (version >= 9) {
    instance.part_bytes[kStartEvent] = get_number(reader);
    has_consumed = reader.boolean();
  }
  if (has_consumed) instance.consumed = get_consumed(reader);
  if (version >= 9 && reader.boolean()) instance.state_timeout = get_span(reader);
  if (version >= 10) get_compensations(reader, instance);
  const bool has_slot = version == 11 || (version >= 12 && reader.boolean());
  if (has_slot) instance.slot = get_slot(reader);
  if (version >= 12) instance.throttled = get_throttled(reader);
  if (!reader.done()) decoded = tl::unexpected(damaged_record(reader, "instance"));
  return decoded;
}

// Reading.

namespace {

/// Why a head does not belong under the key `key` of the table; empty: it does.
std::string_view wrong_place_of(const Instance& head, Table table, std::string_view key) {
  if (part_key(instance_prefix(head.ns, head.id), Part::kHead) != key) {
    return "it is the head of another instance";
  }
  const bool is_ended = table == Table::kEnded;
  if (has_ended(head.status) == is_ended && (head.phase == Phase::kEnded) == is_ended &&
      head.ended_at.has_value() == is_ended) {
    return {};
  }
  return is_ended ? "its status is not the status of an ended instance"
                  : "its status is the status of an ended instance";
}

}  // namespace

Result<Instance> head_of(const View& view, Table table, std::string_view key,
                         std::string_view value) {
  Result<Instance> decoded = rows::decode(view, table, key, value, decode_head);
  if (!decoded) return decoded;
  const std::string_view wrong = wrong_place_of(*decoded, table, key);
  if (!wrong.empty()) decoded = tl::unexpected(damaged_row(table, key, wrong));
  return decoded;
}

Result<std::optional<Instance>> read_head(const View& view, Table table, NamespaceNumber ns,
                                          const InstanceId& id) {
  const std::string key = part_key(instance_prefix(ns, id), Part::kHead);
  const auto bytes = view.get(table, key);
  if (!bytes) {
    TRY(view.status());
    return std::optional<Instance>();
  }
  return std::optional<Instance>(TRY(head_of(view, table, key, *bytes)));
}

Result<std::optional<Instance>> read_live_head(const View& view, NamespaceNumber ns,
                                               const InstanceId& id) {
  return read_head(view, Table::kLive, ns, id);
}

Result<std::optional<Instance>> read_head_anywhere(const View& view, NamespaceNumber ns,
                                                   const InstanceId& id) {
  auto live = TRY(read_head(view, Table::kLive, ns, id));
  if (live) return live;
  return read_head(view, Table::kEnded, ns, id);
}

// Walks.

Status each_live(const View& view, const std::function<void(Instance&& head)>& see,
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

namespace {

/// Visits the heads of one table, as each_live() and each_ended() do.
Status each_head(const View& view, Table table, NamespaceNumber ns,
                 const std::optional<InstanceId>& behind,
                 const std::function<bool(const Instance& head)>& see, const OnDamage& damaged) {
  // The first key after all parts of the instance `behind`.
  const std::string from = behind ? instance_prefix(ns, *behind).append("\xff") : "";
  return walk(
      view, table, ns_prefix(ns), from,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (!is_head(key)) return true;
        return see(TRY(head_of(view, table, key, value)));
      },
      damaged);
}

}  // namespace

Status each_live(const View& view, NamespaceNumber ns, const std::optional<InstanceId>& behind,
                 const std::function<bool(const Instance& head)>& see, const OnDamage& damaged) {
  return each_head(view, Table::kLive, ns, behind, see, damaged);
}

Status each_ended(const View& view, NamespaceNumber ns, const std::optional<InstanceId>& behind,
                  const std::function<bool(const Instance& head)>& see, const OnDamage& damaged) {
  return each_head(view, Table::kEnded, ns, behind, see, damaged);
}

Result<std::vector<StoredHead>> some_heads(const View& view, Table table, NamespaceNumber ns,
                                           const IdRange& range, Direction direction, size_t most) {
  constexpr size_t kMostBytes = size_t{256} << 10;
  std::vector<StoredHead> heads;
  if (range.is_empty() || most == 0) return heads;
  // A backward scan begins before the key of all parts of the instance range.last.
  const std::string from = direction == Direction::kForward
                               ? instance_prefix(ns, range.first)
                               : instance_prefix(ns, range.last).append("\xff");
  size_t bytes = 0;
  view.scan(table, ns_prefix(ns), from, direction,
            [&](std::string_view key, std::string_view value) {
              Reader reader(key.substr(sizeof(uint32_t)));
              const InstanceId id{reader.id()};
              if (!reader.ok()) return true;  // a damaged key
              if (!range.contains(id)) return false;
              if (!is_head(key)) return true;
              heads.push_back(
                  {.id = id, .table = table, .key = std::string(key), .value = std::string(value)});
              bytes += value.size();
              return heads.size() < most && bytes < kMostBytes;
            });
  TRY(view.status());
  return heads;
}

Result<std::optional<TimePoint>> read_oldest_ended(const View& view, NamespaceNumber ns) {
  std::optional<TimePoint> oldest;
  view.scan(Table::kEnded, ns_prefix(ns), [&](std::string_view key, std::string_view) {
    if (!is_head(key)) return true;
    const InstanceId id{Reader(key.substr(sizeof(uint32_t))).id()};
    oldest = std::min(time_of(id), kLastTime);
    return false;
  });
  TRY(view.status());
  return oldest;
}

Result<std::optional<TimePoint>> read_newest_time(const View& view, NamespaceNumber ns) {
  std::optional<TimePoint> newest;
  for (const Table table : {Table::kLive, Table::kEnded}) {
    view.scan(table, ns_prefix(ns), {}, Direction::kBackward, [&](std::string_view key, auto) {
      const InstanceId id{Reader(key.substr(sizeof(uint32_t))).id()};
      newest = std::max(newest.value_or(time_of(id)), time_of(id));
      return false;
    });
  }
  TRY(view.status());
  return newest;
}

Result<bool> has_rows(const View& view, NamespaceNumber ns, const InstanceId& id) {
  bool found = false;
  for (const Table table : {Table::kLive, Table::kEnded}) {
    view.scan(table, instance_prefix(ns, id), [&](auto, auto) {
      found = true;
      return false;
    });
  }
  TRY(view.status());
  return found;
}

Error damaged_instance(NamespaceNumber ns, const InstanceId& id, std::string_view what) {
  return damaged_row(Table::kLive, part_key(instance_prefix(ns, id), Part::kHead), what);
}

}  // namespace millrace
