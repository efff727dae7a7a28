#include "orchestrator/store/rows/fields.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cloudevents/json_format.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace::rows {

Writer begin_record(uint8_t version) {
  Writer writer;
  writer.u8(version);
  return writer;
}

uint8_t read_version(Reader& reader, uint8_t newest) {
  const uint8_t version = reader.u8();
  if (version < kFirstVersion || version > newest) reader.fail();
  return version;
}

Reader open_record(std::string_view bytes) {
  Reader reader(bytes);
  read_version(reader, kFirstVersion);
  return reader;
}

Error damaged_record(const Reader& reader, std::string_view kind) {
  return {
      "store.corrupt",
      fmt::format("the record ({}) is damaged, or of a version that this release does not know: {}",
                  kind, reader.failure())};
}

Result<Event> decode_event(Table table, std::string_view key, const std::string& json) {
  Result<Event> event = decode_json_event(json, kStoredEvents);
  if (event) return event;
  return tl::unexpected(
      damaged_row(table, key, fmt::format("its event does not decode: {}", event.error().message)));
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
TimePoint get_time_from(Reader& reader, TimePoint from) {
  const TimePoint time = from + get_duration(reader);
  if (time >= kFirstTime && time <= kLastTime) return time;
  reader.fail();
  return {};
}

int32_t get_priority(Reader& reader) {
  const int64_t priority = reader.zigzag();
  using Limits = std::numeric_limits<int32_t>;
  if (priority < Limits::min() || priority > Limits::max()) reader.fail();
  return static_cast<int32_t>(priority);
}

void put_span_text(Writer& writer, const Span& span) { writer.bytes(span.text); }

Span get_span_text(Reader& reader) {
  auto span = Span::parse(get_string(reader));
  if (span) return *std::move(span);
  reader.fail();
  return {};
}

std::string get_string(Reader& reader) { return std::string(reader.bytes()); }

LazyJson get_json(Reader& reader) {
  std::optional<LazyJson> json = LazyJson::of_stored(get_string(reader));
  if (!json) reader.fail();
  return std::move(json).value_or(LazyJson());
}

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

std::optional<NamespaceNumber> leading_namespace(std::string_view bytes, uint8_t newest) {
  Reader reader(bytes);
  read_version(reader, newest);
  const auto ns = NamespaceNumber(get_u32(reader));
  return reader.ok() ? std::optional(ns) : std::nullopt;
}

void put_error(Writer& writer, const Error& error) {
  writer.bytes(error.code);
  writer.bytes(error.message);
}

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

void put_position(Writer& writer, const EventPosition& position) {
  writer.varint(position.stream);
  writer.varint(position.sequence);
}

EventPosition get_position(Reader& reader) {
  EventPosition position;
  position.stream = get_u32(reader);
  position.sequence = reader.varint();
  return position;
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

void put_taken(Writer& writer, const ConsumedEvents& consumed) {
  writer.varint(consumed.stream);
  writer.varint(consumed.forgotten);
  writer.varint(consumed.events.size());
  for (const ConsumedEvent& event : consumed.events) {
    writer.varint(event.sequence);
    writer.id(event.known_as);
  }
}

ConsumedEvents get_taken(Reader& reader) {
  ConsumedEvents consumed{.stream = get_u32(reader), .forgotten = get_number(reader), .events = {}};
  const size_t count = reader.count();
  if (count > ConsumedEvents::kMost || (count == 0) != (consumed.stream == 0)) reader.fail();
  for (size_t left = reader.ok() ? count : 0; left > 0; --left) {
    const uint64_t sequence = get_number(reader);
    consumed.events.push_back({sequence, reader.id()});
  }
  return consumed;
}

}  // namespace millrace::rows
