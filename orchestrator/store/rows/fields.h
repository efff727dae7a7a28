// Fields: encodes and decodes the parts of records (docs/FORMATS.md, "Notation"): versions, times,
// optional fields, numbers within their bounds, JSON, errors, callers. A field with a value that no
// release writes fails its Reader, and end_record() returns an error for a failed Reader. Pure
// functions. Only for orchestrator/store/rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/codec.h"
#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "model/consumed_events.h"
#include "model/cursor.h"
#include "model/instance.h"
#include "orchestrator/store/disk/table.h"
#include "policies/duration.h"

namespace millrace::rows {

// Records.

/// The version of a kind of record whose format never changed.
inline constexpr uint8_t kFirstVersion = 1;

/// Begins a record: a writer that has the version, and no field yet.
Writer begin_record(uint8_t version = kFirstVersion);

/// Reads the version of a record. A version outside 1 to `newest` fails the reader.
uint8_t read_version(Reader& reader, uint8_t newest);

/// A reader of a record, positioned after its version. A version other than kFirstVersion fails the
/// reader.
Reader open_record(std::string_view bytes);

/// Error `store.corrupt`: the record was not read to its end, or one of its fields failed. `kind`
/// names the kind of record, such as "task".
Error damaged_record(const Reader& reader, std::string_view kind);

/// The record, if all its bytes were read without a failure. Error: damaged_record().
template <class T>
Result<std::decay_t<T>> end_record(const Reader& reader, T&& record, std::string_view kind) {
  if (reader.done()) return std::forward<T>(record);
  return tl::unexpected(damaged_record(reader, kind));
}

/// The event of a row, decoded from the JSON format. Error: a damaged row.
Result<Event> decode_event(Table table, std::string_view key, const std::string& json);

// Times. A time outside kFirstTime to kLastTime (damage.h) fails the reader.

void put_time(Writer& writer, TimePoint time);
TimePoint get_time(Reader& reader);
/// A time that was written as its distance in milliseconds from the time `from`.
TimePoint get_time_from(Reader& reader, TimePoint from);

void put_duration(Writer& writer, Duration duration);
Duration get_duration(Reader& reader);

/// A span, as the text that a definition has. Another text fails the reader.
void put_span_text(Writer& writer, const Span& span);
Span get_span_text(Reader& reader);

// Optional fields: a boolean, followed by the field if it is true.

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

// Enumerations: one byte, the number of the enumerator. Stored enumerations have explicit numbers,
// from 0 on without a gap, which never change.

template <class E>
void put_enum(Writer& writer, E value) {
  writer.u8(static_cast<uint8_t>(value));
}

/// A value from 0 to `last`, the highest enumerator. A higher value fails the reader.
template <class E>
E get_enum(Reader& reader, E last) {
  const uint8_t value = reader.u8();
  if (value > static_cast<uint8_t>(last)) reader.fail();
  return static_cast<E>(value);
}

// Numbers.

/// The number of a row (0: no row) or a count: a varint up to kMostNumber. A higher number fails
/// the reader.
uint64_t get_number(Reader& reader);
/// A varint that fits into 32 bits; a larger one fails the reader.
uint32_t get_u32(Reader& reader);
/// The priority of a start or a call: a zigzag that fits into 32 bits; another one fails the
/// reader.
int32_t get_priority(Reader& reader);

/// The namespace of a record whose first field, after a version up to `newest`, is the number of
/// its namespace; nullopt: the record does not begin in this way. Reads no further field.
std::optional<NamespaceNumber> leading_namespace(std::string_view bytes, uint8_t newest);

// Texts.

std::string get_string(Reader& reader);
/// A text that will be shown in JSON and so must be UTF-8. In a text that is not UTF-8, `?`
/// replaces each byte above ASCII: a bad text must not make the other fields of the row unreadable.
std::string get_text(Reader& reader);
LazyJson get_json(Reader& reader);

// Fields that several kinds of records have.

void put_error(Writer& writer, const Error& error);
Error get_error(Reader& reader);

void put_position(Writer& writer, const EventPosition& position);
EventPosition get_position(Reader& reader);

void put_caller(Writer& writer, const Caller& caller);
Caller get_caller(Reader& reader);

/// The events that a start or an instance has taken; of a request for a start there may be none.
void put_taken(Writer& writer, const ConsumedEvents& consumed);
ConsumedEvents get_taken(Reader& reader);

}  // namespace millrace::rows
