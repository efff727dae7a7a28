#include "orchestrator/store/rows/head_fields.h"

#include <utility>

#include "orchestrator/store/rows/head_rows.h"
#include "policies/vocabularies.h"

namespace millrace::rows {
namespace {

void put_pending_end(Writer& writer, const PendingEnd& pending) {
  put_enum(writer, pending.status);
  writer.varint(pending.state);
}

PendingEnd get_pending_end(Reader& reader) {
  const auto status = get_enum(reader, InstanceStatus::kTimedOut);
  if (!has_ended(status) || status == InstanceStatus::kComplete) reader.fail();
  return {.status = status, .state = get_number(reader)};
}

}  // namespace

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

ConsumedEvents get_consumed(Reader& reader) {
  ConsumedEvents consumed = get_taken(reader);
  if (consumed.stream == 0) reader.fail();
  return consumed;
}

void put_span(Writer& writer, const Span& span) {
  writer.varint(static_cast<uint64_t>(span.months));
  writer.varint(static_cast<uint64_t>(span.fixed.count()));
}

Span get_span(Reader& reader) {
  constexpr uint64_t kMostMonths = 1'200;
  const uint64_t months = get_number(reader);
  const uint64_t fixed = get_number(reader);
  if (months > kMostMonths || fixed > uint64_t{kMostMilliseconds}) {
    reader.fail();
    return {};
  }
  return {.months = static_cast<int>(months), .fixed = Duration(static_cast<int64_t>(fixed))};
}

void put_compensations(Writer& writer, const Instance& instance) {
  writer.varint(instance.part_bytes[static_cast<size_t>(Part::kCompensation)]);
  writer.varint(instance.compensations);
  writer.boolean(instance.compensates);
  put_optional(writer, instance.compensating, put_pending_end);
  put_optional(writer, instance.compensation_error, put_error);
}

void get_compensations(Reader& reader, Instance& instance) {
  instance.part_bytes[static_cast<size_t>(Part::kCompensation)] = get_number(reader);
  instance.compensations = get_u32(reader);
  instance.compensates = reader.boolean();
  instance.compensating = get_optional(reader, get_pending_end);
  instance.compensation_error = get_optional(reader, get_error);
  const bool has_newest = instance.compensating || instance.compensation_error;
  if (has_newest && instance.compensations == 0) reader.fail();
  if (instance.compensations > kMostCompensations) reader.fail();
}

void put_slot(Writer& writer, const Slot& slot) {
  writer.bytes(slot.key);
  writer.zigzag(slot.priority);
  writer.varint(slot.number);
  writer.boolean(slot.is_queued);
}

Slot get_slot(Reader& reader) {
  Slot slot{.key = get_string(reader)};
  slot.priority = get_priority(reader);
  slot.number = get_number(reader);
  slot.is_queued = reader.boolean();
  if (slot.key.size() > kMostSlotKeyBytes || slot.number == 0) reader.fail();
  return slot;
}

void put_throttled(Writer& writer, const Throttled& throttled) {
  writer.bytes(throttled.key);
  writer.zigzag(throttled.priority);
  writer.varint(throttled.number);
}

Throttled get_throttled(Reader& reader) {
  Throttled throttled{.key = get_string(reader)};
  throttled.priority = get_priority(reader);
  throttled.number = get_number(reader);
  if (throttled.key.size() > kMostSlotKeyBytes) reader.fail();
  return throttled;
}

std::vector<Timer> get_timers(Reader& reader, TimerKind last) {
  std::vector<Timer> timers;
  for (size_t left = reader.count(); left > 0; --left) {
    timers.push_back({get_enum(reader, last), get_time(reader)});
  }
  return timers;
}

}  // namespace millrace::rows
