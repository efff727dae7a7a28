#include "orchestrator/store/rows/identity.h"

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

constexpr std::string_view kKey = "store";
constexpr uint8_t kVersion = 1;
/// What begins the mark of a cluster; the mark of a folder has no blank.
constexpr std::string_view kClusterMark = "cluster ";

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

Result<std::optional<StoreIdentity>> read_store_identity(const View& view) {
  const std::optional<std::string_view> row = view.get(Table::kMeta, kKey);
  TRY(view.status());
  if (!row) return std::nullopt;
  return TRY(decode_store_identity(*row));
}

void write_store_identity(Transaction& tx, const StoreIdentity& identity) {
  tx.put(Table::kMeta, kKey, encode(identity));
}

std::string cluster_mark(std::string_view cluster) {
  return fmt::format("{}{}", kClusterMark, cluster);
}

std::string_view cluster_of_mark(std::string_view mark) {
  return mark.starts_with(kClusterMark) ? mark.substr(kClusterMark.size()) : std::string_view();
}

Status check_store_of_cluster(Transaction& tx, std::string_view cluster) {
  TRY(check_known_numbers(tx));
  if (TRY(read_key_row(tx))) TRY(check_key(tx));
  const bool has_position = tx.get(Table::kMeta, kLogKey).has_value();
  const std::optional<StoreIdentity> known = TRY(read_store_identity(tx));
  TRY(tx.status());
  const std::string_view other = known ? cluster_of_mark(known->folder) : std::string_view();
  if (!has_position || other.empty() || other == cluster) return {};
  return fail("store.cluster",
              fmt::format("{} is the folder of a node of the cluster {}, and --cluster names {}; "
                          "correct the name, or name a new folder",
                          tx.environment().folder().string(), other, cluster));
}

Result<StoreIdentity> identify(Environment& environment,
                               const std::function<std::array<uint8_t, 16>()>& make_id,
                               const std::optional<std::string>& mark) {
  Transaction tx(environment);
  TRY(check_format(tx));
  StoreIdentity wanted;
  if (mark) {
    wanted.folder = *mark;
  } else {
    wanted.folder = TRY(environment.mark());
  }
  const std::optional<StoreIdentity> known = TRY(read_store_identity(tx));
  if (known && known->folder == wanted.folder) return *known;
  wanted.id = make_id();
  write_store_identity(tx, wanted);
  TRY(tx.commit(Limit::kPassed));
  return wanted;
}

}  // namespace millrace
