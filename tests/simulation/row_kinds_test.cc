// Each kind of row in the table "Tables" of docs/FORMATS.md is in the RichStore, which the tests of
// the store check damage, or this file says which other test has rows of that kind.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/value_piece_rows.h"
#include "orchestrator/store/transaction.h"
#include "tests/simulation/rich_store.h"

namespace millrace {
namespace {

using HasKind = std::function<bool(std::string_view key)>;

/// A kind of row.
struct RowKind {
  std::string trees;  ///< the column `tree` of the table
  std::string key;    ///< the column `key`
  HasKind has_kind;   ///< whether a row of the trees is of this kind, by its key
  /// Why the RichStore has no such row, and which test has one; empty: it has one.
  std::string elsewhere = {};
};

// Keys.

bool any_key(std::string_view) { return true; }

/// The keys that have the bytes at that place.
HasKind with_bytes(std::string bytes, size_t at = 0) {
  return [bytes = std::move(bytes), at](std::string_view key) {
    return key.size() >= at && key.substr(at).starts_with(bytes);
  };
}

/// The keys with that prefix whose next byte is `kind`.
HasKind numbered_kind(const std::string& prefix, uint8_t kind) {
  return with_bytes(prefix + static_cast<char>(kind));
}

/// The rows of an instance with that part.
HasKind part_number(uint8_t part) {
  constexpr size_t kAt = 4 + 16;  // namespace, id
  return with_bytes(std::string(1, static_cast<char>(part)), kAt);
}

HasKind of_size(size_t size) {
  return [size](std::string_view key) { return key.size() == size; };
}

/// The rows `start-rate/` of calls, or those of the starts of workflows.
HasKind start_rates(bool of_calls) {
  return [of_calls](std::string_view key) {
    constexpr std::string_view kPrefix = "start-rate/";
    constexpr std::string_view kNoWorkflow("\0\0\0\0", 4);
    return key.starts_with(kPrefix) &&
           key.substr(kPrefix.size()).starts_with(kNoWorkflow) == of_calls;
  };
}

/// The values of secrets, or their former values.
HasKind secret_values(bool former) {
  constexpr size_t kAt = 4;  // namespace
  return [former](std::string_view key) { return key.substr(kAt).starts_with('~') == former; };
}

// Kinds.

constexpr const char* kOfDeletions =
    "only until a deletion has ended: AcceptsRowsThatADeletionHasYetToErase in store_check_test.cc";
constexpr const char* kOfLargeAnswers =
    "only of answers with more than a mebibyte of files: staged_values_test.cc";
constexpr const char* kOfClusters = "only in a cluster: cluster_test.cc";

void add_meta_kinds(std::vector<RowKind>& kinds) {
  const auto add = [&](std::string key, HasKind has_kind, std::string elsewhere = {}) {
    kinds.push_back({"`meta`", std::move(key), std::move(has_kind), std::move(elsewhere)});
  };
  for (const char* const begin : {"format", "minor", "time", "counter/"}) {
    add("`\"format\"`, `\"minor\"`, `\"time\"`, `\"counter/\" a–k`", with_bytes(begin));
  }
  add("`\"cursor\"`", with_bytes("cursor"));
  add("`\"seal\"`", with_bytes("seal"));
  add("`\"archive/\"`, u32 namespace", with_bytes("archive/"),
      "it needs the files of an archive: archived_instances_test.cc");
  add("`\"purge/\"`, u8 0, u64 namespace", numbered_kind("purge/", 0), kOfDeletions);
  add("`\"purge/\"`, u8 1, u64 history row", numbered_kind("purge/", 1), kOfDeletions);
  add("`\"purge/\"`, u8 2, u64 workflow", numbered_kind("purge/", 2), kOfDeletions);
  add("`\"purge/\"`, u8 3, u64 number", numbered_kind("purge/", 3), kOfDeletions);
  add("`\"purge/\"`, u8 4, u64 number", numbered_kind("purge/", 4), kOfDeletions);
  add("`\"purge/\"`, u8 5, u64 number", numbered_kind("purge/", 5), kOfLargeAnswers);
  add("`\"retired/\"`, u32 workflow", with_bytes("retired/"));
  add("`\"rate/\"`, u32 namespace", with_bytes("rate/"));
  add("`\"pending-start/\"`, u32 namespace, u32 workflow, id fingerprint of the key",
      with_bytes("pending-start/"));
  add("`\"pending-input/\"`, u32 namespace, id instance that will start, u32 number",
      with_bytes("pending-input/"));
  add("`\"pending-start-at/\"`, u64 time listed (ms), u32 namespace, u32 workflow, id fingerprint "
      "of the key",
      with_bytes("pending-start-at/"));
  add("`\"pending-starts/\"`, u32 namespace", with_bytes("pending-starts/"));
  for (const bool of_calls : {false, true}) {
    add("`\"start-rate/\"`, u32 workflow, id fingerprint of the key", start_rates(of_calls));
  }
  add("`\"start-rate-end/\"`, u64 time listed (ms), u32 workflow, id fingerprint of the key",
      with_bytes("start-rate-end/"));
  add("`\"start-rates/\"`, u32 namespace", with_bytes("start-rates/"));
  add("`\"replay/\"`, u32 namespace, id replay", with_bytes("replay/"));
  add("`\"source/\"`, u32 namespace, name", with_bytes("source/"));
  add("`\"origin/\"`, id source, u64 creation time of the origin stream (ns), u32 round",
      with_bytes("origin/"));
  add("`\"left-consumer/\"`, id source, name of the origin stream", with_bytes("left-consumer/"));
  add("`\"given-answers/\"`, u32 namespace, u8 last byte of the action ids",
      with_bytes("given-answers/"));
  add("`\"node/\"`, id node", with_bytes("node/"), kOfClusters);
  add("`\"stream/\"`, u32 stream", with_bytes("stream/"));
  add("`\"index\"`", with_bytes("index"),
      "only until the index is computed: older_formats_test.cc");
  add("`\"log\"`", with_bytes("log"), kOfClusters);
  add("`\"loading\"`", with_bytes("loading"), kOfClusters);
  add("`\"crash-note\"`", with_bytes("crash-note"), kOfClusters);
  add("`\"store\"`", with_bytes("store"), "only a server writes it: identity_test.cc");
}

void add_instance_kinds(std::vector<RowKind>& kinds) {
  const auto add = [&](std::string key, uint8_t part) {
    kinds.push_back({"`live`, `ended`", std::move(key), part_number(part)});
  };
  add("u32 namespace, id instance, u8 0", 0);
  add("… u8 1", 1);
  add("… u8 2", 2);
  add("… u8 3", 3);
  add("… u8 4", 4);
  add("… u8 5, u32 index", 5);
  add("… u8 6", 6);
  add("… u8 7", 7);
  kinds.push_back({"`ended`", "u32 namespace, id instance, u8 8, u32 number", part_number(8)});
}

void add_queue_kinds(std::vector<RowKind>& kinds) {
  const auto add = [&](QueueRow kind, std::string_view rest) {
    const auto number = static_cast<uint8_t>(kind);
    kinds.push_back(
        {"`queues`", fmt::format("u8 {}, {}", number, rest), numbered_kind("", number)});
  };
  add(QueueRow::kCounts, "u32 workflow, id key");
  add(QueueRow::kHolder, "u32 workflow, id key, u64 number");
  add(QueueRow::kWaiting, "u32 workflow, id key, u32 rank, u64 number");
  add(QueueRow::kThrottleCounts, "u32 workflow, id key");
  add(QueueRow::kThrottled, "u32 workflow, id key, u32 rank, u64 number");
  add(QueueRow::kCallCounts, "u32 namespace, id key");
  add(QueueRow::kCallHolder, "u32 namespace, id key, u64 number");
  add(QueueRow::kCallWaiting, "u32 namespace, id key, u32 rank, u64 number");
  add(QueueRow::kCallPaused, "u32 namespace, id key, u64 number");
  add(QueueRow::kCallThrottleCounts, "u32 namespace, id key");
  add(QueueRow::kCallThrottled, "u32 namespace, id key, u32 rank, u64 number");
  add(QueueRow::kCallThrottlePaused, "u32 namespace, id key, u64 number");
}

/// The kinds of rows in the order of the table.
std::vector<RowKind> kinds_of_rows() {
  std::vector<RowKind> kinds;
  const auto add = [&](std::string tree, std::string key, HasKind has_kind = any_key,
                       std::string elsewhere = {}) {
    kinds.push_back(
        {fmt::format("`{}`", tree), std::move(key), std::move(has_kind), std::move(elsewhere)});
  };
  add_meta_kinds(kinds);
  add("namespaces", "name");
  add("workflows", "u32 namespace, id");
  add("definitions", "u32 workflow, u32 revision");
  add_instance_kinds(kinds);
  add("by_status", "u32 namespace, u32 workflow, u8 status, id instance");
  add("counts", "u32 namespace, u32 workflow, u32 revision, u32 state, u8 status");
  add("usage", "u32 namespace");
  add("history", "u64 number");
  add("groups", "u8 1, u32 workflow, id group", numbered_kind("", 1));
  add("groups", "u8 2, u32 workflow, id group, u16 entry, u64 number", numbered_kind("", 2));
  add("groups", "u8 3, u64 number", numbered_kind("", 3));
  add("schedules", "u32 workflow");
  add("delayed", "u64 number");
  add("outbox", "u64 number");
  add("sent", "u64 number, rising");
  add("recent", "u32 namespace, id of the type, u64 number");
  add("fanout", "u64 number of an event in `recent`", of_size(8),
      "only until the event is delivered: DyingStore in damaged_store_test.cc");
  add("fanout", "u64 number of an event in `recent`, u8 1", of_size(9),
      "only until the event is matched: late_matches_test.cc");
  add("tasks", "id task");
  add("hooks", "u64 number");
  add("inbox", "u64 number", any_key,
      "only until the next batch: DyingStore in damaged_store_test.cc");
  add("effects", "u32 stream, u64 sequence, u64 number");
  add_queue_kinds(kinds);
  add("dedupe", "u64 time of the batch's last event, u64 its sequence");
  add("idempotency", "u32 workflow, key");
  constexpr size_t kScopeAt = 4;  // namespace
  for (const char scope : {0, 1, 2}) {
    add("variables",
        "u32 namespace; then u8 0, id instance, or u8 1, u32 workflow, or u8 2; then the key",
        with_bytes(std::string(1, scope), kScopeAt));
  }
  add("variables", "the same beginning, u8 0, u64 group, the key, u8 0, u32 number", is_value_piece,
      kOfLargeAnswers);
  add("secrets", "u32 namespace, name", secret_values(false));
  add("secrets", "u32 namespace, `~` and a number of four digits", secret_values(true));
  add("dead_letters", "", any_key, "the tree is not used");
  return kinds;
}

// The table, and the store.

/// A cell of a line of a table, without the spaces around it.
std::string cell_of(std::string_view line, size_t column) {
  for (; column > 0; --column) line.remove_prefix(line.find('|') + 1);
  line = line.substr(0, line.find('|'));
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with(' ')) line.remove_suffix(1);
  return std::string(line);
}

/// The columns `tree` and `key` of the table, as `tree: key`. A line without a tree has that of the
/// line before it.
std::vector<std::string> documented_kinds() {
  std::vector<std::string> found;
  std::ifstream file("docs/FORMATS.md");
  std::string line;
  while (std::getline(file, line) && line != "| tree | key | value |") {
  }
  std::getline(file, line);  // the line below the names of the columns
  std::string tree;
  while (std::getline(file, line) && line.starts_with('|')) {
    if (const std::string named = cell_of(line, 1); !named.empty()) tree = named;
    found.push_back(fmt::format("{}: {}", tree, cell_of(line, 2)));
  }
  return found;
}

/// The keys of all rows of the RichStore, by their trees.
std::map<std::string, std::vector<std::string>> rich_keys() {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  const Transaction tx(*environment);
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& [table, name, since] : kTables) {
    tx.scan(table, {}, [&, tree = name](std::string_view key, auto) {
      keys[tree].emplace_back(key);
      return true;
    });
  }
  EXPECT_TRUE(tx.status());
  return keys;
}

bool is_in(const RowKind& kind, std::string_view tree) {
  return kind.trees.find(fmt::format("`{}`", tree)) != std::string::npos;
}

TEST(RowKinds, AreThoseOfTheTableInTheDocuments) {
  std::vector<std::string> kinds;
  for (const RowKind& kind : kinds_of_rows()) {
    std::string line = fmt::format("{}: {}", kind.trees, kind.key);
    if (kinds.empty() || kinds.back() != line) kinds.push_back(std::move(line));
  }
  EXPECT_THAT(documented_kinds(), testing::ElementsAreArray(kinds))
      << "docs/FORMATS.md and kinds_of_rows() list the same kinds of rows in the same order; add a "
         "new kind to both, and a row of it to RichStore";
}

TEST(MinorNumbers, AreThoseOfTheTableInTheDocuments) {
  std::ifstream file("docs/FORMATS.md");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("| minor number |")) {
  }
  std::getline(file, line);  // the line below the names of the columns
  uint64_t last = 0;
  for (; std::getline(file, line) && line.starts_with('|'); ++last) {
    EXPECT_EQ(cell_of(line, 1), std::to_string(last + 1));
  }
  EXPECT_EQ(last, kStoreMinor) << "docs/FORMATS.md says what each minor number adds";
}

TEST(RowKinds, AreInTheRichStore) {
  const auto keys = rich_keys();
  for (const RowKind& kind : kinds_of_rows()) {
    size_t count = 0;
    for (const auto& [tree, of_tree] : keys) {
      if (is_in(kind, tree)) {
        count += static_cast<size_t>(std::count_if(of_tree.begin(), of_tree.end(), kind.has_kind));
      }
    }
    if (kind.elsewhere.empty()) {
      EXPECT_GT(count, 0U) << kind.trees << " " << kind.key
                           << ": make RichStore write a row of this kind";
    } else {
      EXPECT_EQ(count, 0U) << kind.trees << " " << kind.key << ": remove \"" << kind.elsewhere
                           << "\", because RichStore has rows of this kind";
    }
  }
}

TEST(RowKinds, CoverEachRowOfTheRichStore) {
  const std::vector<RowKind> kinds = kinds_of_rows();
  for (const auto& [tree, of_tree] : rich_keys()) {
    for (const std::string& key : of_tree) {
      const bool is_known = std::any_of(kinds.begin(), kinds.end(), [&](const RowKind& kind) {
        return is_in(kind, tree) && kind.has_kind(key);
      });
      EXPECT_TRUE(is_known) << "docs/FORMATS.md has no such row of " << tree << ": 0x"
                            << to_hex(key);
    }
  }
}

}  // namespace
}  // namespace millrace
