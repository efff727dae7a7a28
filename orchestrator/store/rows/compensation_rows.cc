#include "orchestrator/store/rows/compensation_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

std::string compensation_key(const Instance& instance, uint32_t number) {
  Writer key;
  key.raw(part_key(instance_prefix(instance.ns, instance.id), Part::kCompensation));
  key.u32(number);
  return key.take();
}

/// Moves a row as it is. The seal of a row is the same in both tables (rows::seal_context).
void move_row(Transaction& tx, const std::string& key, Table from, Table to) {
  if (const auto row = tx.get(from, key)) tx.put(to, key, std::string(*row));
  tx.erase(from, key);
}

}  // namespace

std::string encode_compensation(const Compensation& compensation) {
  Writer writer = begin_record();
  writer.varint(compensation.state);
  writer.bytes(compensation.input.text());
  writer.boolean(compensation.of_call);
  return writer.take();
}

Result<Compensation> decode_compensation(std::string_view bytes) {
  Reader reader = open_record(bytes);
  Compensation compensation;
  compensation.state = get_number(reader);
  compensation.input = get_json(reader);
  compensation.of_call = reader.boolean();
  return end_record(reader, std::move(compensation), "compensation");
}

Result<Compensation> read_compensation(const View& view, const Instance& instance,
                                       uint32_t number) {
  const Table table = has_ended(instance.status) ? Table::kEnded : Table::kLive;
  const std::string key = compensation_key(instance, number);
  auto found = TRY(read(view, table, key, decode_compensation));
  if (found) return std::move(*found);
  return missing_row(table, key,
                     fmt::format(", but the head has {} compensations", instance.compensations));
}

uint64_t write_compensations(Transaction& tx, const Instance& instance, uint32_t before,
                             uint64_t bytes) {
  const bool ended = has_ended(instance.status);
  const auto added = static_cast<uint32_t>(instance.new_compensations.size());
  const uint32_t kept = instance.compensations - added;
  for (uint32_t number = kept; number < before; ++number) {
    const std::string key = compensation_key(instance, number);
    const auto row = tx.get(Table::kLive, key);
    if (row) bytes -= std::min<uint64_t>(bytes, Seal::plain_size(*row));
    tx.erase(Table::kLive, key);
  }
  for (uint32_t number = 0; ended && number < kept; ++number) {
    move_row(tx, compensation_key(instance, number), Table::kLive, Table::kEnded);
  }
  for (uint32_t i = 0; i < added; ++i) {
    std::string encoded = encode_compensation(instance.new_compensations[i]);
    bytes += encoded.size();
    rows::put(tx, ended ? Table::kEnded : Table::kLive, compensation_key(instance, kept + i),
              std::move(encoded), instance.sealed);
  }
  return instance.compensations == 0 ? 0 : bytes;
}

void revive_compensations(Transaction& tx, const Instance& ended) {
  for (uint32_t number = 0; number < ended.compensations; ++number) {
    move_row(tx, compensation_key(ended, number), Table::kEnded, Table::kLive);
  }
}

void erase_compensations(Transaction& tx, const Instance& ended) {
  for (uint32_t number = 0; number < ended.compensations; ++number) {
    tx.erase(Table::kEnded, compensation_key(ended, number));
  }
}

}  // namespace millrace
