#include "orchestrator/store/disk/log_row.h"

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/disk/table.h"

namespace millrace {
namespace {

constexpr uint8_t kLogRowVersion = 1;

}  // namespace

std::string encode(const LogPosition& position) {
  Writer writer;
  writer.u8(kLogRowVersion);
  writer.u64(position.sequence);
  writer.u64(position.name.epoch);
  writer.u64(position.name.commit);
  writer.id(position.name.incarnation);
  writer.id(position.node);
  writer.id(position.chain);
  return writer.take();
}

Result<LogPosition> decode_log_position(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.u8() != kLogRowVersion) reader.fail();
  LogPosition position;
  position.sequence = reader.u64();
  position.name.epoch = reader.u64();
  position.name.commit = reader.u64();
  position.name.incarnation = reader.id();
  position.node = reader.id();
  position.chain = reader.id();
  if (reader.done()) return position;
  return fail("store.corrupt",
              fmt::format("the position in the log is damaged: {}", reader.failure()));
}

bool is_row_of_folder(std::string_view absolute_key) {
  if (absolute_key.empty() || table_of(absolute_key) != Table::kMeta) return false;
  return key_of(absolute_key) == kLogKey || key_of(absolute_key) == kLoadingKey;
}

LogPosition base_position(const RandomName& node, const RandomName& snapshot) {
  return {.node = node, .chain = snapshot};
}

bool is_base(const LogPosition& position) {
  return position.sequence == 0 && position.chain != RandomName();
}

Error joining_error() {
  return {"store.joining",
          "the data folder belongs to a node of a cluster that was loading a snapshot, so it lacks "
          "rows; start the node with `serve --cluster`, which loads a snapshot again"};
}

}  // namespace millrace
