#include "orchestrator/store/rows/rate_rows.h"

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kRateKey = "rate/";

std::string rate_key(NamespaceNumber ns) { return std::string(kRateKey) + ns_prefix(ns); }

}  // namespace

std::string encode(const RateUse& use) {
  Writer writer = begin_record();
  put_time(writer, use.at);
  writer.varint(use.used);
  return writer.take();
}

Result<RateUse> decode_rate_use(std::string_view bytes) {
  Reader reader = open_record(bytes);
  RateUse use;
  use.at = get_time(reader);
  use.used = get_number(reader);
  return end_record(reader, use, "rate");
}

std::optional<NamespaceNumber> namespace_of_rate(std::string_view key) {
  if (!key.starts_with(kRateKey)) return std::nullopt;
  Reader reader(key.substr(kRateKey.size()));
  const uint32_t number = reader.u32();
  if (!reader.done() || number == 0) return std::nullopt;
  return NamespaceNumber(number);
}

Result<std::optional<RateUse>> read_rate_use(const View& view, NamespaceNumber ns) {
  return read(view, Table::kMeta, rate_key(ns), decode_rate_use);
}

void write_rate_use(Transaction& tx, NamespaceNumber ns, const RateUse& use) {
  tx.put(Table::kMeta, rate_key(ns), encode(use));
}

void erase_rate_use(Transaction& tx, NamespaceNumber ns) { tx.erase(Table::kMeta, rate_key(ns)); }

}  // namespace millrace
