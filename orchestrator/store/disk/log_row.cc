#include "orchestrator/store/disk/log_row.h"

#include <fmt/format.h>

#include "base/codec.h"

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

}  // namespace millrace
