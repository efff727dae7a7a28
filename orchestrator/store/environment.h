// Environment: the open data folder. It holds one LMDB file with one tree a Table, and a lock that
// keeps a second process (or a second open in this one, which LMDB forbids) out. Reading and
// writing is done through transaction.h; only these two pairs know LMDB. Safe from any thread once
// open; Transactions and Snapshots on it must be gone before it is.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/seal.h"

struct MDB_env;
struct MDB_txn;

namespace millrace {

struct AbortTxn {
  void operator()(MDB_txn* txn) const;
};

/// An LMDB transaction, given up unless it is released into a commit.
using TxnHandle = std::unique_ptr<MDB_txn, AbortTxn>;

/// A named tree of rows. The value is the first byte of the absolute keys of its rows and never
/// changes its meaning; kTables gives the name on disk.
enum class Table : uint8_t {
  kMeta = 'm',
  kNamespaces = 'n',
  kWorkflows = 'w',
  kDefinitions = 'd',
  kLive = 'l',
  kEnded = 'e',
  kHistory = 'h',
  kGroups = 'g',
  kDelayed = 't',
  kOutbox = 'o',
  kSent = 'a',
  kDedupe = 'k',
  kRecent = 'r',
  kInbox = 'i',
  kFanout = 'f',
  kIdempotency = 'q',
  kVariables = 'v',
  kSecrets = 's',
  kSchedules = 'c',
  kDeadLetters = 'x',
};

struct TableName {
  Table table;
  const char* name;
};

/// Every table, once. A new one is added here and above, nowhere else.
inline constexpr std::array<TableName, 20> kTables{{
    {Table::kMeta, "meta"},           {Table::kNamespaces, "namespaces"},
    {Table::kWorkflows, "workflows"}, {Table::kDefinitions, "definitions"},
    {Table::kLive, "live"},           {Table::kEnded, "ended"},
    {Table::kHistory, "history"},     {Table::kGroups, "groups"},
    {Table::kDelayed, "delayed"},     {Table::kOutbox, "outbox"},
    {Table::kSent, "sent"},           {Table::kDedupe, "dedupe"},
    {Table::kRecent, "recent"},       {Table::kInbox, "inbox"},
    {Table::kFanout, "fanout"},       {Table::kIdempotency, "idempotency"},
    {Table::kVariables, "variables"}, {Table::kSecrets, "secrets"},
    {Table::kSchedules, "schedules"}, {Table::kDeadLetters, "dead_letters"},
}};

struct EnvironmentOptions {
  /// What used_bytes() may come to before commits are refused with `store.full`.
  uint64_t soft_limit_bytes = std::numeric_limits<uint64_t>::max();

  /// Address space to reserve; it is what the file can never outgrow while open. Where the system
  /// gives less (ulimit -v), a quarter is tried, and so on down to 1 GiB.
  uint64_t map_bytes = uint64_t{1} << 40;

  /// Room that is kept, in the map and on the disk, for what must work when the store is full. LMDB
  /// writes pages anew to change them, so to delete needs room before it makes any.
  uint64_t reserve_bytes = uint64_t{4} << 20;

  /// File of the key under which rows are sealed; empty: `secret-key` in the folder, which is made
  /// where there is none.
  std::filesystem::path key_file;
};

class Environment {
 public:
  /// Opens `folder`, making it (mode 0700) when missing. Errors: `store.locked` (somebody has it
  /// open), `store.io`, `store.full`, `store.corrupt`, `store.version` (a file of another LMDB
  /// format), `store.key` (Seal::read). All messages name the folder or the file.
  static Result<std::unique_ptr<Environment>> open(const std::filesystem::path& folder,
                                                   const EnvironmentOptions& options = {});

  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// The bytes of all pages that rows and their trees occupy at the last commit. Deleting rows
  /// brings it down, while the file keeps its size and fills the free pages first. About 5 µs.
  /// Errors: as Snapshot::take.
  Result<uint64_t> used_bytes() const;

  /// Whether more than `reserve` bytes (or, where that is less, an eighth of the whole) are left,
  /// both to the soft limit and on the disk. Error `store.full` if not; else as Snapshot::take.
  Status check_room(uint64_t reserve) const;

  const Seal& seal() const { return *seal_; }
  const std::filesystem::path& key_file() const { return options_.key_file; }
  /// Whether the key is a new one that is in no file yet.
  bool key_is_new() const { return key_is_new_; }
  /// Brings a new key to its file, before anything that it seals is committed.
  Status keep_key();

  const std::filesystem::path& folder() const { return folder_; }
  const EnvironmentOptions& options() const { return options_; }

 private:
  friend class Snapshot;
  friend class Transaction;

  Environment(std::filesystem::path folder, const EnvironmentOptions& options);

  Status make_folder();
  Status lock();
  Status open_map();
  Status fill_to_length();
  Status open_tables();
  Status open_key();
  Status sync_folder(const std::filesystem::path& path) const;

  Result<TxnHandle> begin(unsigned flags) const;
  Result<uint64_t> bytes_in(MDB_txn* txn) const;
  /// What bytes_in() may come to by a batch that keeps the limits.
  uint64_t most_bytes() const;
  /// Makes the file reach that far beyond its last page. Error `store.full`.
  Status keep_reserve();

  unsigned tree(Table table) const { return trees_[static_cast<uint8_t>(table)]; }

  /// The one translation of MDB_* and errno values; `operation` reads as "reading live".
  Error error(int failed, std::string_view operation) const;
  Error error(int failed, std::string_view operation, const char* code) const;

  std::filesystem::path folder_;
  EnvironmentOptions options_;
  int lock_file_ = -1;
  MDB_env* handle_ = nullptr;
  uint64_t reserved_to_ = 0;           ///< how far the file is known to reach
  std::array<unsigned, 128> trees_{};  ///< LMDB's handle by table byte
  std::optional<Seal> seal_;           ///< once it is open
  bool key_is_new_ = false;
  std::atomic<bool> has_writer_ = false;
};

/// The table's name on disk and in messages.
const char* table_name(Table table);

}  // namespace millrace
