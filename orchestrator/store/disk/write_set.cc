#include "orchestrator/store/disk/write_set.h"

#include "base/codec.h"

namespace millrace {

void append_encoded(std::string& bytes, const WriteSet& writes) {
  Writer writer(std::move(bytes));
  for (const auto& [key, value] : writes) {
    writer.bytes(key);
    writer.boolean(value.has_value());
    if (value) writer.bytes(*value);
  }
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
