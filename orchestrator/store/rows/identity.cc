#include "orchestrator/store/rows/identity.h"

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

constexpr std::string_view kKey = "store";
constexpr uint8_t kVersion = 1;

std::string encode(const StoreIdentity& identity) {
  Writer writer;
  writer.u8(kVersion);
  writer.id(identity.id);
  writer.bytes(identity.folder);
  return writer.take();
}

}  // namespace

Result<StoreIdentity> decode_store_identity(std::string_view row) {
  Reader reader(row);
  const uint8_t version = reader.u8();
  StoreIdentity identity{.id = reader.id(), .folder = std::string(reader.bytes())};
  if (version != kVersion || !reader.done()) {
    return tl::unexpected(
        damaged_row(Table::kMeta, kKey, "it is not the id and folder of a store"));
  }
  return identity;
}

Result<StoreIdentity> identify(Environment& environment,
                               const std::function<std::array<uint8_t, 16>()>& make_id) {
  Transaction tx(environment);
  TRY(check_format(tx));
  const std::string mark = TRY(environment.mark());
  if (const std::optional<std::string_view> row = tx.get(Table::kMeta, kKey)) {
    Result<StoreIdentity> known = decode_store_identity(*row);
    if (!known || known->folder.compare(mark) == 0) return known;
  }
  TRY(tx.status());
  StoreIdentity made{.id = make_id(), .folder = mark};
  tx.put(Table::kMeta, kKey, encode(made));
  TRY(tx.commit(Limit::kPassed));
  return made;
}

}  // namespace millrace
