#include "orchestrator/store/rows/crash_row.h"

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

void put_noted_instance(Writer& writer, const NotedInstance& instance) {
  writer.u32(static_cast<uint32_t>(instance.ns));
  writer.id(instance.id.bytes);
}

NotedInstance get_noted_instance(Reader& reader) {
  NotedInstance instance;
  instance.ns = NamespaceNumber(reader.u32());
  if (instance.ns == NamespaceNumber(0)) reader.fail();
  instance.id.bytes = reader.id();
  return instance;
}

}  // namespace

std::string encode(const NotedInput& input) {
  Writer writer = begin_record();
  writer.varint(input.deaths);
  writer.varint(input.sequence);
  put_optional(writer, input.instance, put_noted_instance);
  return writer.take();
}

Result<NotedInput> decode_noted_input(std::string_view bytes) {
  Reader reader = open_record(bytes);
  NotedInput input;
  input.deaths = get_u32(reader);
  if (input.deaths == 0) reader.fail();
  input.sequence = reader.varint();
  input.instance = get_optional(reader, get_noted_instance);
  const bool has_input = input.sequence != 0 || input.instance;
  if (!has_input) reader.fail();
  return end_record(reader, input, "crash note");
}

Result<std::optional<NotedInput>> read_crash_row(const View& view) {
  return read(view, Table::kMeta, kCrashRowKey, decode_noted_input);
}

WriteSet crash_row_writes(const NotedInput& input) {
  WriteSet writes;
  writes.emplace(AbsoluteKey(Table::kMeta, kCrashRowKey).view(), encode(input));
  return writes;
}

void erase_crash_row(Transaction& tx) { tx.erase(Table::kMeta, kCrashRowKey); }

}  // namespace millrace
