#include "orchestrator/store/rows/replay_rows.h"

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kReplayKey = "replay/";

std::string replay_key(const ReplayPlace& place) {
  Writer key;
  key.raw(kReplayKey);
  key.u32(static_cast<uint32_t>(place.ns));
  key.id(place.id);
  return key.take();
}

}  // namespace

std::string encode(const ReplayRecord& record) {
  Writer writer = begin_record();
  put_enum(writer, record.state);
  put_time(writer, record.created_at);
  writer.zigzag(record.stream_created);
  writer.varint(record.first);
  writer.varint(record.next);
  writer.varint(record.last);
  put_optional(writer, record.since, put_time);
  put_optional(writer, record.until, put_time);
  writer.bytes(record.type);
  writer.bytes(record.source);
  writer.bytes(record.target);
  writer.varint(record.rate);
  writer.boolean(record.is_dry);
  writer.varint(record.matched);
  writer.varint(record.sent);
  writer.varint(record.refused);
  writer.varint(record.lost);
  put_error(writer, record.error);
  return writer.take();
}

Result<ReplayRecord> decode_replay(std::string_view bytes) {
  Reader reader = open_record(bytes);
  ReplayRecord record;
  record.state = get_enum(reader, ReplayRecord::State::kFailed);
  record.created_at = get_time(reader);
  record.stream_created = reader.zigzag();
  record.first = reader.varint();
  record.next = reader.varint();
  record.last = reader.varint();
  record.since = get_optional(reader, get_time);
  record.until = get_optional(reader, get_time);
  record.type = get_string(reader);
  record.source = get_string(reader);
  record.target = get_string(reader);
  record.rate = get_u32(reader);
  if (record.rate == 0) reader.fail();
  record.is_dry = reader.boolean();
  record.matched = reader.varint();
  record.sent = reader.varint();
  record.refused = reader.varint();
  record.lost = reader.varint();
  record.error = get_error(reader);
  return end_record(reader, std::move(record), "replay");
}

std::optional<ReplayPlace> replay_place(std::string_view key) {
  if (!key.starts_with(kReplayKey)) return std::nullopt;
  Reader reader(key.substr(kReplayKey.size()));
  ReplayPlace place;
  place.ns = NamespaceNumber(reader.u32());
  place.id = reader.id();
  if (!reader.done() || place.ns == NamespaceNumber(0)) return std::nullopt;
  return place;
}

Result<std::optional<ReplayRecord>> read_replay(const View& view, const ReplayPlace& place) {
  return read(view, Table::kMeta, replay_key(place), decode_replay);
}

void write_replay(Transaction& tx, const ReplayPlace& place, const ReplayRecord& record) {
  tx.put(Table::kMeta, replay_key(place), encode(record));
}

void erase_replay(Transaction& tx, const ReplayPlace& place) {
  tx.erase(Table::kMeta, replay_key(place));
}

Status each_replay(const View& view,
                   const std::function<void(const ReplayPlace&, const ReplayRecord&)>& see,
                   const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, kReplayKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const std::optional<ReplayPlace> place = replay_place(key);
        if (!place) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its key is not a namespace and the id of a replay"));
        }
        see(*place, TRY(rows::decode(view, Table::kMeta, key, value, decode_replay)));
        return true;
      },
      damaged);
}

}  // namespace millrace
