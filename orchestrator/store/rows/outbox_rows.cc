#include "orchestrator/store/rows/outbox_rows.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "cloudevents/subject.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Whether the header can be sent to a broker (broker/wire.h). A header that cannot be sent would
/// block the messages after it.
bool is_header(std::string_view name, std::string_view value) {
  const auto is_name_char = [](char c) { return c > ' ' && c <= '~' && c != ':'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_char) &&
         value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

// Messages.

std::string encode(const OutboxRecord& record) {
  Writer writer = begin_record();
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

Result<OutboxRecord> decode_outbox(std::string_view bytes) {
  Reader reader = open_record(bytes);
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
  return end_record(reader, std::move(record), "outbox");
}

void write_outbox(Transaction& tx, uint64_t number, const OutboxRecord& record) {
  rows::put(tx, Table::kOutbox, key_of(number), encode(record), record.sealed);
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

Result<OutboxRecord> decode_outbox(const View& view, uint64_t number, std::string_view row) {
  return rows::decode<OutboxRecord>(view, Table::kOutbox, key_of(number), row, decode_outbox);
}

// Sent.

std::string encode(const SentRecord& record) {
  Writer writer = begin_record();
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
  Reader reader = open_record(bytes);
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
  return end_record(reader, std::move(record), "sent");
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

}  // namespace millrace
