#include "orchestrator/store/rows/archive_rows.h"

#include <string>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kArchiveKey = "archive/";

std::string archive_key(NamespaceNumber ns) {
  Writer key;
  key.raw(kArchiveKey);
  key.u32(static_cast<uint32_t>(ns));
  return key.take();
}

}  // namespace

Result<ArchivePosition> decode_archive(std::string_view bytes) {
  Reader reader = open_record(bytes);
  ArchivePosition position;
  position.file = get_u32(reader);
  position.length = reader.varint();
  if (position.file == 0) reader.fail();
  return end_record(reader, position, "archive");
}

Result<std::optional<ArchivePosition>> read_archive(const View& view, NamespaceNumber ns) {
  return read(view, Table::kMeta, archive_key(ns), decode_archive);
}

void write_archive(Transaction& tx, NamespaceNumber ns, const ArchivePosition& position) {
  Writer value = begin_record();
  value.varint(position.file);
  value.varint(position.length);
  tx.put(Table::kMeta, archive_key(ns), value.take());
}

void erase_archive(Transaction& tx, NamespaceNumber ns) { tx.erase(Table::kMeta, archive_key(ns)); }

Status each_archive(
    const View& view,
    const std::function<void(NamespaceNumber ns, const ArchivePosition& position)>& see,
    const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, kArchiveKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        Reader reader(key.substr(kArchiveKey.size()));
        const auto ns = NamespaceNumber(reader.u32());
        if (!reader.done() || ns == NamespaceNumber(0)) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its key is not the number of a namespace"));
        }
        see(ns, TRY(rows::decode(view, Table::kMeta, key, value, decode_archive)));
        return true;
      },
      damaged);
}

}  // namespace millrace
