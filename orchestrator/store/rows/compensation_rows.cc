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

/// Erases the rows with the numbers from `first` to below `end`, at most `most`. Returns whether
/// some are left.
bool erase_from(Transaction& tx, const Instance& instance, uint32_t first, uint32_t end,
                uint32_t most) {
  uint32_t number = first;
  for (; number < end && number - first < most; ++number) {
    tx.erase(Table::kEnded, compensation_key(instance, number));
  }
  return number < end;
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
  const std::string key = compensation_key(instance, number);
  auto found = TRY(read(view, Table::kEnded, key, decode_compensation));
  if (found) return std::move(*found);
  return missing_row(Table::kEnded, key,
                     fmt::format(", but the head has {} compensations", instance.compensations));
}

WrittenCompensations write_compensations(Transaction& tx, const Instance& instance, uint32_t before,
                                         uint64_t bytes, uint32_t most) {
  const auto added = static_cast<uint32_t>(instance.new_compensations.size());
  const uint32_t kept = instance.compensations - added;
  if (kept > 0) {
    for (uint32_t number = kept; number < before; ++number) {
      const std::string key = compensation_key(instance, number);
      if (const auto row = tx.get(Table::kEnded, key)) {
        bytes -= std::min<uint64_t>(bytes, Seal::plain_size(*row));
      }
      tx.erase(Table::kEnded, key);
    }
  }
  // Of no row that is kept the size is 0, so no row has to be read for it.
  WrittenCompensations written{.bytes = kept > 0 ? bytes : 0};
  if (kept == 0) written.has_left = erase_from(tx, instance, added, before, most);
  for (uint32_t i = 0; i < added; ++i) {
    std::string encoded = encode_compensation(instance.new_compensations[i]);
    written.bytes += encoded.size();
    rows::put(tx, Table::kEnded, compensation_key(instance, kept + i), std::move(encoded),
              instance.sealed);
  }
  return written;
}

uint64_t compensation_bytes(const View& view, const Instance& instance) {
  uint64_t bytes = 0;
  const std::string prefix =
      part_key(instance_prefix(instance.ns, instance.id), Part::kCompensation);
  view.scan(Table::kEnded, prefix, [&](std::string_view key, std::string_view value) {
    if (!is_of_compensation(instance, key.substr(prefix.size()))) return false;  // dropped
    bytes += Seal::plain_size(value);
    return true;
  });
  return bytes;
}

bool is_of_compensation(const Instance& instance, std::string_view number) {
  return Reader(number).u32() < instance.compensations;
}

bool erase_compensations(Transaction& tx, const Instance& instance, uint32_t most) {
  return erase_from(tx, instance, 0, instance.compensations, most);
}

}  // namespace millrace
