#include "orchestrator/store/rows/source_rows.h"

#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kSourceKey = "source/";
constexpr std::string_view kOriginKey = "origin/";

std::string source_prefix(NamespaceNumber ns) { return std::string(kSourceKey) + ns_prefix(ns); }

std::string source_key(const SourcePlace& place) { return source_prefix(place.ns) + place.name; }

std::string origins_prefix(const SourceId& source) {
  Writer key;
  key.raw(kOriginKey);
  key.id(source);
  return key.take();
}

std::string origin_key(const OriginStream& origin) {
  Writer key(origins_prefix(origin.source));
  key.u64(origin.created);
  key.u32(origin.round);
  return key.take();
}

void put_origin(Writer& writer, const OriginStream& origin) {
  writer.id(origin.source);
  writer.u64(origin.created);
  writer.u32(origin.round);
}

OriginStream get_origin(Reader& reader) {
  OriginStream origin;
  origin.source = reader.id();
  origin.created = reader.u64();
  origin.round = reader.u32();
  return origin;
}

/// Writes the floor, and of each range above it the size of the gap before it and its own size.
void put_applied(Writer& writer, const AppliedSequences& applied) {
  writer.varint(applied.floor());
  writer.varint(applied.above().size());
  uint64_t last = applied.floor();
  for (const SequenceRange& range : applied.above()) {
    writer.varint(range.first - last - 1);
    writer.varint(range.last - range.first + 1);
    last = range.last;
  }
}

AppliedSequences get_applied(Reader& reader) {
  AppliedSequences applied(reader.varint());
  const size_t count = reader.count();
  if (count > kMostGaps) reader.fail();
  uint64_t last = applied.floor();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const uint64_t gap = reader.varint();
    const uint64_t size = reader.varint();
    const uint64_t room = UINT64_MAX - last;
    if (gap == 0 || size == 0 || gap >= room || size > room - gap) {
      reader.fail();
      break;
    }
    const uint64_t before = last + gap;
    last = before + size;
    applied.add(before, last);
  }
  return applied;
}

Status walk_sources(const View& view, std::string_view prefix,
                    const std::function<void(const SourcePlace&, const SourceRecord&)>& see,
                    const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, prefix, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const std::optional<SourcePlace> place = source_place(key);
        if (!place) {
          return tl::unexpected(damaged_row(Table::kMeta, key,
                                            "its key is not a namespace and the name of a source"));
        }
        see(*place, TRY(rows::decode(view, Table::kMeta, key, value, decode_source)));
        return true;
      },
      damaged);
}

}  // namespace

std::string encode(const SourceRecord& record) {
  Writer writer = begin_record();
  put_origin(writer, record.origin);
  put_time(writer, record.created_at);
  put_time(writer, record.applied_at);
  writer.boolean(record.is_paused);
  writer.bytes(record.stream);
  writer.bytes(record.begin);
  writer.bytes(record.settings);
  return writer.take();
}

Result<SourceRecord> decode_source(std::string_view bytes) {
  Reader reader = open_record(bytes);
  SourceRecord record;
  record.origin = get_origin(reader);
  record.created_at = get_time(reader);
  record.applied_at = get_time(reader);
  record.is_paused = reader.boolean();
  record.stream = get_text(reader);
  record.begin = get_text(reader);
  record.settings = get_text(reader);
  return end_record(reader, std::move(record), "source");
}

std::optional<SourcePlace> source_place(std::string_view key) {
  if (!key.starts_with(kSourceKey)) return std::nullopt;
  Reader reader(key.substr(kSourceKey.size()));
  SourcePlace place;
  place.ns = NamespaceNumber(reader.u32());
  place.name = reader.rest();
  if (!reader.done() || place.ns == NamespaceNumber(0) || place.name.empty()) return std::nullopt;
  return place;
}

Result<std::optional<SourceRecord>> read_source(const View& view, const SourcePlace& place) {
  return read(view, Table::kMeta, source_key(place), decode_source);
}

void write_source(Transaction& tx, const SourcePlace& place, const SourceRecord& record) {
  tx.put(Table::kMeta, source_key(place), encode(record));
}

void erase_source(Transaction& tx, const SourcePlace& place) {
  tx.erase(Table::kMeta, source_key(place));
}

Status each_source(const View& view,
                   const std::function<void(const SourcePlace&, const SourceRecord&)>& see,
                   const OnDamage& damaged) {
  return walk_sources(view, kSourceKey, see, damaged);
}

Status each_source_of(const View& view, NamespaceNumber ns,
                      const std::function<void(const SourcePlace&, const SourceRecord&)>& see,
                      const OnDamage& damaged) {
  return walk_sources(view, source_prefix(ns), see, damaged);
}

std::string encode(const OriginRecord& record) {
  Writer writer = begin_record();
  writer.varint(static_cast<uint32_t>(record.ns));
  put_applied(writer, record.applied);
  put_time(writer, record.stamped);
  writer.varint(record.events);
  writer.varint(record.repeated);
  writer.varint(record.refused);
  writer.varint(record.refused_sequence);
  put_time(writer, record.refused_at);
  put_error(writer, record.refusal);
  return writer.take();
}

Result<OriginRecord> decode_origin(std::string_view bytes) {
  Reader reader = open_record(bytes);
  OriginRecord record;
  record.ns = NamespaceNumber(get_u32(reader));
  if (record.ns == NamespaceNumber(0)) reader.fail();
  record.applied = get_applied(reader);
  record.stamped = get_time(reader);
  record.events = reader.varint();
  record.repeated = reader.varint();
  record.refused = reader.varint();
  record.refused_sequence = reader.varint();
  record.refused_at = get_time(reader);
  record.refusal = get_error(reader);
  return end_record(reader, std::move(record), "origin");
}

std::optional<OriginStream> origin_place(std::string_view key) {
  if (!key.starts_with(kOriginKey)) return std::nullopt;
  Reader reader(key.substr(kOriginKey.size()));
  const OriginStream origin = get_origin(reader);
  if (!reader.done()) return std::nullopt;
  return origin;
}

Result<std::optional<OriginRecord>> read_origin(const View& view, const OriginStream& origin) {
  return read(view, Table::kMeta, origin_key(origin), decode_origin);
}

void write_origin(Transaction& tx, const OriginStream& origin, const OriginRecord& record) {
  tx.put(Table::kMeta, origin_key(origin), encode(record));
}

Status each_origin_of(const View& view, const SourceId& source,
                      const std::function<void(const OriginStream&, const OriginRecord&)>& see,
                      const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, origins_prefix(source), {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const std::optional<OriginStream> origin = origin_place(key);
        if (!origin) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its key is not the place of an origin stream"));
        }
        see(*origin, TRY(rows::decode(view, Table::kMeta, key, value, decode_origin)));
        return true;
      },
      damaged);
}

void erase_origin(Transaction& tx, const OriginStream& origin) {
  tx.erase(Table::kMeta, origin_key(origin));
}

}  // namespace millrace
