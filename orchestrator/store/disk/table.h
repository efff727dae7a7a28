// Table: the named trees of rows, and the absolute keys that identify a row in the journal, in
// memory and in LMDB. An absolute key is the table's byte, then the key.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace millrace {

/// A named tree of rows. The enum value is the first byte of the absolute keys of its rows and
/// must never change its meaning. kTables has the name on disk.
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
  kKeptEvents = 'r',
  kInbox = 'i',
  kFanout = 'f',
  kIdempotency = 'q',
  kVariables = 'v',
  kSecrets = 's',
  kSchedules = 'c',
  kDeadLetters = 'x',
  kTasks = 'p',
  kWebhooks = 'u',
  kByStatus = 'b',
  kCounts = 'j',
  kUsage = 'y',
  kEffects = 'z',
  kQueues = 'Q',
};

struct TableName {
  Table table;
  const char* name;
  /// The first format since which every store has the tree of the table. A store of an earlier
  /// format gets the tree when it is opened. A table that came with a minor number of a format has
  /// the next format: an earlier store of that format lacks the tree.
  uint64_t since = 5;
};

/// Every table, once. To add a table, add it here and to enum Table; nothing else lists the tables.
inline constexpr std::array<TableName, 27> kTables{{
    {Table::kMeta, "meta"},
    {Table::kNamespaces, "namespaces"},
    {Table::kWorkflows, "workflows"},
    {Table::kDefinitions, "definitions"},
    {Table::kLive, "live"},
    {Table::kEnded, "ended"},
    {Table::kHistory, "history"},
    {Table::kGroups, "groups"},
    {Table::kDelayed, "delayed"},
    {Table::kOutbox, "outbox"},
    {Table::kSent, "sent"},
    {Table::kDedupe, "dedupe"},
    {Table::kKeptEvents, "recent"},
    {Table::kInbox, "inbox"},
    {Table::kFanout, "fanout"},
    {Table::kIdempotency, "idempotency"},
    {Table::kVariables, "variables"},
    {Table::kSecrets, "secrets"},
    {Table::kSchedules, "schedules"},
    {Table::kDeadLetters, "dead_letters"},
    {Table::kTasks, "tasks"},
    {Table::kWebhooks, "hooks"},
    {Table::kByStatus, "by_status", 6},
    {Table::kCounts, "counts", 6},
    {Table::kUsage, "usage", 6},
    {Table::kEffects, "effects", 6},
    {Table::kQueues, "queues", 7},
}};

/// The key of the row in kMeta that holds the store's format.
inline constexpr std::string_view kFormatKey = "format";

/// The table's name on disk and in messages.
const char* table_name(Table table);

/// The first format since which every store has the tree of the table (TableName::since).
uint64_t since_format(Table table);

/// The maximum size of a key in bytes, without the table's byte: the limit of LMDB. The minimum is
/// 1 byte.
inline constexpr size_t kMaxKeySize = 511;

inline Table table_of(std::string_view absolute_key) {
  return static_cast<Table>(static_cast<uint8_t>(absolute_key.front()));
}

inline std::string_view key_of(std::string_view absolute_key) { return absolute_key.substr(1); }

/// A table's byte and a key, in one buffer without a heap allocation. A key that is empty or longer
/// than kMaxKeySize is a bug (CHECK).
class AbsoluteKey {
 public:
  AbsoluteKey(Table table, std::string_view key) : size_(key.size() + 1) {
    check_size(table, key);
    bytes_[0] = static_cast<char>(table);
    std::memcpy(bytes_ + 1, key.data(), key.size());
  }

  std::string_view view() const { return {bytes_, size_}; }

 private:
  static void check_size(Table table, std::string_view key);

  size_t size_;
  char bytes_[1 + kMaxKeySize];
};

/// The absolute keys k with `low` ≤ k < `high`.
struct KeyRange {
  std::string low;
  std::string high;
};

enum class Direction : uint8_t { kForward, kBackward };

}  // namespace millrace
