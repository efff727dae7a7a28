#include "orchestrator/store/rows/node_rows.h"

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kNodeKey = "node/";

std::string node_key(const RandomName& node) {
  Writer key;
  key.raw(kNodeKey);
  key.id(node);
  return key.take();
}

}  // namespace

std::string encode(const NodeRecord& record) {
  Writer writer = begin_record();
  put_time(writer, record.first_seen);
  writer.bytes(record.address);
  return writer.take();
}

Result<NodeRecord> decode_node(std::string_view bytes) {
  Reader reader = open_record(bytes);
  NodeRecord record;
  record.first_seen = get_time(reader);
  record.address = get_string(reader);
  if (record.address.size() > kMostNodeAddressBytes) reader.fail();
  return end_record(reader, std::move(record), "node");
}

std::optional<RandomName> node_of_key(std::string_view key) {
  if (!key.starts_with(kNodeKey)) return std::nullopt;
  Reader reader(key.substr(kNodeKey.size()));
  const RandomName node = reader.id();
  if (!reader.done()) return std::nullopt;
  return node;
}

Result<std::optional<NodeRecord>> read_node(const View& view, const RandomName& node) {
  return read(view, Table::kMeta, node_key(node), decode_node);
}

void write_node(Transaction& tx, const RandomName& node, const NodeRecord& record) {
  tx.put(Table::kMeta, node_key(node), encode(record));
}

void erase_node(Transaction& tx, const RandomName& node) { tx.erase(Table::kMeta, node_key(node)); }

Status each_node(const View& view,
                 const std::function<void(const RandomName&, const NodeRecord&)>& see,
                 const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, kNodeKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const std::optional<RandomName> node = node_of_key(key);
        if (!node) {
          return tl::unexpected(damaged_row(Table::kMeta, key, "its key is not the id of a node"));
        }
        see(*node, TRY(rows::decode(view, Table::kMeta, key, value, decode_node)));
        return true;
      },
      damaged);
}

}  // namespace millrace
