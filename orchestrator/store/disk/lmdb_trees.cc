// The trees of data.mdb: opens the tree of each table, and finds trees that are missing or unknown,
// and unknown rows in the tree of the journal.
#include <algorithm>

#include <fmt/format.h>
#include <lmdb.h>

#include "base/codec.h"
#include "base/excerpt.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/disk/lmdb_value.h"
#include "orchestrator/store/disk/store_error.h"

namespace millrace {

namespace {

constexpr const char* kJournalTree = "journal";

}  // namespace

Status LmdbFile::find_trees() {
  TxnHandle txn = TRY(begin(MDB_RDONLY));
  const auto find = [&](const char* name, unsigned& tree) -> Status {
    const int failed = mdb_dbi_open(txn.get(), name, 0, &tree);
    if (failed == MDB_NOTFOUND) tree = kNoTree;
    if (failed == 0 || failed == MDB_NOTFOUND) return {};
    return tl::unexpected(error(failed, "opening the tables"));
  };
  for (const auto& [table, name, since] : kTables)
    TRY(find(name, trees_[static_cast<uint8_t>(table)]));
  TRY(find(kJournalTree, journal_tree_));
  // LMDB keeps the handles of trees only if the transaction is committed, not aborted.
  const int failed = mdb_txn_commit(txn.release());
  if (failed != 0) return tl::unexpected(error(failed, "opening the tables"));
  return {};
}

/// Refuses a file with a missing tree. Otherwise open_trees() would create that tree, empty, and
/// its rows would be lost without a message.
Status LmdbFile::check_trees() {
  TRY(find_trees());
  if (journal_tree_ == kNoTree) return {};  // a new file
  const auto refuse = [&](const TableName& missing) {
    return fail(
        "store.corrupt",
        fmt::format("data.mdb in {} has no tree \"{}\", which every store has since format "
                    "{}{}",
                    folder_.string(), missing.name, missing.since, advice_for("store.corrupt")));
  };
  if (tree(Table::kMeta) == kNoTree) return refuse(kTables.front());
  const TxnHandle txn = TRY(begin(MDB_RDONLY));
  MDB_val key = to_val(kFormatKey);
  MDB_val value;
  const int failed = mdb_get(txn.get(), tree(Table::kMeta), &key, &value);
  if (failed == MDB_NOTFOUND) return {};  // there was no checkpoint yet
  if (failed != 0) return tl::unexpected(error(failed, "reading the format"));
  const uint64_t format = Reader(to_view(value)).u64();
  for (const TableName& entry : kTables) {
    if (tree(entry.table) == kNoTree && format >= entry.since) return refuse(entry);
  }
  return {};
}

Status LmdbFile::open_trees() {
  TxnHandle txn = TRY(begin(0));
  const auto open = [&](const char* name, unsigned& tree) -> Status {
    const int failed = mdb_dbi_open(txn.get(), name, MDB_CREATE, &tree);
    if (failed != 0) return tl::unexpected(error(failed, "opening the tables"));
    return {};
  };
  for (const auto& [table, name, since] : kTables) {
    TRY(open(name, trees_[static_cast<uint8_t>(table)]));
  }
  TRY(open(kJournalTree, journal_tree_));
  const int failed = mdb_txn_commit(txn.release());
  if (failed != 0) return tl::unexpected(error(failed, "creating the tables"));
  return {};
}

/// All keys of a tree.
Result<std::vector<std::string>> LmdbFile::keys_of(unsigned tree) const {
  const TxnHandle txn = TRY(begin(MDB_RDONLY));
  MDB_cursor* made = nullptr;
  int failed = mdb_cursor_open(txn.get(), tree, &made);
  const CursorHandle cursor(failed == 0 ? made : nullptr);
  std::vector<std::string> keys;
  MDB_val key;
  MDB_val value;
  if (failed == 0) failed = mdb_cursor_get(cursor.get(), &key, &value, MDB_FIRST);
  for (; failed == 0; failed = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) {
    keys.emplace_back(to_view(key));
  }
  if (failed != MDB_NOTFOUND) return tl::unexpected(error(failed, "reading the keys of a tree"));
  return keys;
}

Result<std::vector<std::string>> LmdbFile::unknown_trees() const {
  std::vector<std::string> names = TRY(keys_of(kMainTree));
  std::erase_if(names, [](const std::string& name) {
    return name == kJournalTree ||
           std::any_of(kTables.begin(), kTables.end(),
                       [&](const TableName& one) { return name == one.name; });
  });
  return names;
}

Result<std::vector<std::string>> LmdbFile::unknown_journal_keys() const {
  if (journal_tree_ == kNoTree) return std::vector<std::string>();
  std::vector<std::string> keys = TRY(keys_of(journal_tree_));
  std::erase(keys, kCheckpointedKey);
  return keys;
}

Status LmdbFile::refuse_unknown_trees() const {
  const std::vector<std::string> names = TRY(unknown_trees());
  if (names.empty()) return {};
  return fail("tree.unknown",
              fmt::format("data.mdb has the tree \"{}\", and no release creates a tree of this "
                          "name, so a copy of the rows would not have its rows; keep a copy of the "
                          "folder and report this finding of `millrace verify` as a fault of "
                          "millrace",
                          excerpt(names.front())));
}

}  // namespace millrace
