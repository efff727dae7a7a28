#include "orchestrator/store/rows/left_consumer_rows.h"

#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kLeftConsumerKey = "left-consumer/";

std::string left_consumer_key(const SourceConsumer& consumer) {
  Writer key;
  key.raw(kLeftConsumerKey);
  key.id(consumer.source);
  key.raw(consumer.stream);
  return key.take();
}

}  // namespace

std::string encode_consumer_name(const std::string& name) {
  Writer writer = begin_record();
  writer.bytes(name);
  return writer.take();
}

Result<std::string> decode_consumer_name(std::string_view bytes) {
  Reader reader = open_record(bytes);
  std::string name = get_text(reader);
  if (name.empty()) reader.fail();
  return end_record(reader, std::move(name), "left consumer");
}

std::optional<SourceConsumer> left_consumer_place(std::string_view key) {
  if (!key.starts_with(kLeftConsumerKey)) return std::nullopt;
  Reader reader(key.substr(kLeftConsumerKey.size()));
  SourceConsumer place;
  place.source = reader.id();
  place.stream = reader.rest();
  if (!reader.done() || place.stream.empty()) return std::nullopt;
  return place;
}

void write_left_consumer(Transaction& tx, const SourceConsumer& consumer) {
  tx.put(Table::kMeta, left_consumer_key(consumer), encode_consumer_name(consumer.name));
}

void erase_left_consumer(Transaction& tx, const SourceConsumer& consumer) {
  tx.erase(Table::kMeta, left_consumer_key(consumer));
}

Status each_left_consumer(const View& view, const std::function<void(const SourceConsumer&)>& see,
                          const OnDamage& damaged) {
  return walk(
      view, Table::kMeta, kLeftConsumerKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        std::optional<SourceConsumer> found = left_consumer_place(key);
        if (!found) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its key is not a source and the name of a stream"));
        }
        found->name = TRY(rows::decode(view, Table::kMeta, key, value, decode_consumer_name));
        see(*found);
        return true;
      },
      damaged);
}

}  // namespace millrace
