#include "orchestrator/store/rows/stream_rows.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kStreamKey = "stream/";

}  // namespace

Result<int64_t> decode_stream(std::string_view bytes) {
  Reader reader = open_record(bytes);
  const int64_t created = reader.zigzag();
  return end_record(reader, created, "stream");
}

Status each_stream(const View& view,
                   const std::function<void(uint32_t number, int64_t created)>& see,
                   const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, kStreamKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        Reader reader(key.substr(kStreamKey.size()));
        const uint32_t number = reader.u32();
        if (!reader.done() || number == 0) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its key is not the number of a stream"));
        }
        see(number, TRY(rows::decode(view, Table::kMeta, key, value, decode_stream)));
        return true;
      },
      damaged);
}

Result<uint32_t> find_stream(const View& view, int64_t created) {
  uint32_t found = 0;
  // A damaged row only costs the number of its stream: the stream then gets another number.
  TRY(each_stream(
      view,
      [&](uint32_t number, int64_t of) {
        if (of == created) found = number;
      },
      [](const Error&) {}));
  return found;
}

Result<uint32_t> number_stream(Transaction& tx, int64_t created) {
  if (const uint32_t known = TRY(find_stream(tx, created)); known != 0) return known;
  uint32_t last = 0;
  tx.scan(Table::kMeta, kStreamKey, {}, Direction::kBackward, [&](std::string_view key, auto) {
    Reader reader(key.substr(kStreamKey.size()));
    last = std::max(last, reader.u32());
    return !reader.done();  // a damaged key may be too short for its number
  });
  TRY(tx.status());
  if (last == std::numeric_limits<uint32_t>::max()) {
    return tl::unexpected(damaged_row(Table::kMeta, kStreamKey, "no higher number is left"));
  }
  Writer key;
  key.raw(kStreamKey);
  key.u32(last + 1);
  Writer value = begin_record();
  value.zigzag(created);
  tx.put(Table::kMeta, key.view(), value.take());
  return last + 1;
}

}  // namespace millrace
