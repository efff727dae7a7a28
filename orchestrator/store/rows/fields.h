// Fields: the pieces that the bytes of records are made of (docs/FORMATS.md, "Notation"): versions,
// times, optional fields, numbers within their bounds, JSON, errors, callers. A field that no
// release writes fails its Reader, and end_record() makes an error of that. For this folder only.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/store/disk/table.h"

namespace millrace::rows {

// Records.

/// The version of a kind of record whose bytes never changed.
inline constexpr uint8_t kFirstVersion = 1;

/// A record of which only the version is written.
Writer begin_record(uint8_t version = kFirstVersion);

/// Reads the version of a record; one that is not from 1 to `newest` fails the reader.
uint8_t read_version(Reader& reader, uint8_t newest);

/// A record behind its version, which has to be kFirstVersion.
Reader open_record(std::string_view bytes);

/// Error `store.corrupt`: the record was not read to its end, or a field of it failed. `kind` names
/// what it is a record of.
Error damaged_record(const Reader& reader, std::string_view kind);

/// The record, if all of its bytes were read; error: damaged_record().
template <class T>
Result<T> end_record(const Reader& reader, T record, std::string_view kind) {
  if (reader.done()) return record;
  return tl::unexpected(damaged_record(reader, kind));
}

/// The event of a row, from its JSON format. Error: a damaged row.
Result<Event> decode_event(Table table, std::string_view key, const std::string& json);

// Times. Those of a record lie from kFirstTime to kLastTime (damage.h).

void put_time(Writer& writer, TimePoint time);
TimePoint get_time(Reader& reader);
/// A time that was written as its distance in milliseconds from another one.
TimePoint get_time_from(Reader& reader, TimePoint from);

void put_duration(Writer& writer, Duration duration);
Duration get_duration(Reader& reader);

// Optional fields: a boolean, and the field behind it if that is true.

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

// Enumerations: one byte, the number of the name. Those that are stored have explicit numbers, from
// 0 on without a gap, which never change.

template <class E>
void put_enum(Writer& writer, E value) {
  writer.u8(static_cast<uint8_t>(value));
}

/// A value from 0 to `last`, the highest one of the enumeration.
template <class E>
E get_enum(Reader& reader, E last) {
  const uint8_t value = reader.u8();
  if (value > static_cast<uint8_t>(last)) reader.fail();
  return static_cast<E>(value);
}

// Numbers.

/// The number of a row, or a count: a varint up to kMostNumber; 0 where there is none.
uint64_t get_number(Reader& reader);
/// A varint of 32 bits.
uint32_t get_u32(Reader& reader);

// Texts.

std::string get_string(Reader& reader);
/// A text that is shown as JSON, which is UTF-8. In one that is not, `?` takes the place of each
/// byte above ASCII: the text of an error must not make the rest of the row unreadable.
std::string get_text(Reader& reader);
LazyJson get_json(Reader& reader);

// What several kinds of records have.

void put_error(Writer& writer, const Error& error);
Error get_error(Reader& reader);

void put_caller(Writer& writer, const Caller& caller);
Caller get_caller(Reader& reader);

}  // namespace millrace::rows
