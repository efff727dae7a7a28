#include "orchestrator/store/disk/write_set.h"

#include "base/codec.h"

namespace millrace {
namespace {

void put_write(Writer& writer, std::string_view absolute_key,
               std::optional<std::string_view> value) {
  writer.bytes(absolute_key);
  writer.boolean(value.has_value());
  if (value) writer.bytes(*value);
}

}  // namespace

void append_encoded(std::string& bytes, const WriteSet& writes) {
  // To grow step by step would copy long values again.
  constexpr size_t kMostOfAWrite = 16;         // of its numbers, beside its key and value
  size_t size = bytes.size() + kMostOfAWrite;  // the log of a cluster appends, and so does padding
  for (const auto& [key, value] : writes) {
    size += key.size() + kMostOfAWrite + (value ? value->size() : 0);
  }
  if (size > kLongValue) bytes.reserve(size);
  Writer writer(std::move(bytes));
  for (const auto& [key, value] : writes) put_write(writer, key, value);
  bytes = writer.take();
}

void append_write(std::string& bytes, std::string_view absolute_key,
                  std::optional<std::string_view> value) {
  Writer writer(std::move(bytes));
  put_write(writer, absolute_key, value);
  bytes = writer.take();
}

bool each_write(std::string_view bytes,
                const std::function<void(std::string_view absolute_key,
                                         std::optional<std::string_view> value)>& see) {
  Reader reader(bytes);
  while (reader.ok() && !reader.done()) {
    const std::string_view key = reader.bytes();
    const bool has_value = reader.boolean();
    const std::string_view value = has_value ? reader.bytes() : std::string_view();
    if (!reader.ok() || key.empty()) return false;
    see(key, has_value ? std::optional(value) : std::nullopt);
  }
  return reader.ok();
}

}  // namespace millrace
