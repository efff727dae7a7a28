#include "orchestrator/backup/snapshot_loader.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/tables.h"

namespace millrace {
namespace {

tl::unexpected<Error> damaged_snapshot(std::string_view what) {
  return fail("snapshot.damaged",
              fmt::format("the snapshot is damaged: {}; use another snapshot", what));
}

/// Whether a snapshot can begin at `from` and end at `to`.
bool are_in_order(const LogPosition& from, const LogPosition& to) {
  if (from == LogPosition()) return false;  // no store that has rows of the log has this position
  return from.sequence < to.sequence || from == to;
}

/// Error `store.not_empty`, if the store has a row.
Status check_is_empty(const Transaction& tx, const std::filesystem::path& folder) {
  std::optional<Table> used;
  for (const Table table : tables_in_order()) {
    tx.scan(table, {}, [&](auto, auto) {
      used = table;
      return false;
    });
    if (used) break;
  }
  TRY(tx.status());
  if (!used) return {};
  return fail("store.not_empty",
              fmt::format("{} has a row in the table {}; expected an empty store, because a "
                          "snapshot has all rows",
                          folder.string(), table_name(*used)));
}

}  // namespace

Result<std::unique_ptr<SnapshotLoader>> SnapshotLoader::begin(Environment& environment,
                                                              const LogPosition& from,
                                                              const LogPosition& to) {
  if (!are_in_order(from, to)) {
    return damaged_snapshot(fmt::format("it begins at sequence {} of the log and ends at {}",
                                        from.sequence, to.sequence));
  }
  std::unique_ptr<SnapshotLoader> loader(new SnapshotLoader(environment, from, to));
  TRY(loader->mark(from, to));
  return loader;
}

Status SnapshotLoader::mark(const LogPosition& from, const LogPosition& to) {
  TRY(check_is_empty(tx_, tx_.environment().folder()));
  tx_.put(Table::kMeta, kLogKey, encode(from));
  tx_.put(Table::kMeta, kLoadingKey, encode(to));
  return tx_.commit(Limit::kPassed);
}

Status SnapshotLoader::add(std::string_view chunk) {
  ++chunks_;
  Status added = loader_.add(chunk);
  if (!added && added.error().code == kBackupDamaged) {
    return fail("snapshot.damaged",
                fmt::format("chunk {} of the snapshot: {}", chunks_, added.error().message));
  }
  return added;
}

Status SnapshotLoader::finish(const RowCounts& rows) {
  if (loader_.rows() != rows) {
    return damaged_snapshot(
        fmt::format("it has {} rows, and other rows than its manifest lists "
                    "({})",
                    sum_of(loader_.rows()), sum_of(rows)));
  }
  if (is_of_one_commit_) tx_.erase(Table::kMeta, kLoadingKey);
  return loader_.finish();
}

}  // namespace millrace
